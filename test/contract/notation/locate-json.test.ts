import { expect } from 'chai'
import fc from 'fast-check'
import { parseJson } from '../../../src/contract/notation/exact-json.ts'
import { locateJson } from '../../../src/contract/notation/locate-json.ts'
import type { Located } from '../../../src/contract/notation/located.ts'
import { anyJsonText } from '../any-json.ts'

const bounds = { depth: 100 }

function toValue(located: Located | undefined): unknown {
  if (located?.kind === 'scalar') return located.value
  if (located?.kind === 'list') return located.items.map(toValue)
  return Object.fromEntries(located?.entries.map(({ key, value }) => [key, toValue(value)]) ?? [])
}

function* placesIn(located: Located): Generator<[at: number, source: string]> {
  if (located.kind === 'list') for (const item of located.items) yield* placesIn(item)
  if (located.kind === 'map') {
    for (const { key, keyAt, value } of located.entries) {
      yield [keyAt, JSON.stringify(key)]
      yield* placesIn(value)
    }
  }
  if (located.kind === 'scalar') yield [located.at, JSON.stringify(located.value)]
  else yield [located.at, located.kind === 'map' ? '{' : '[']
}

describe('locateJson', () => {
  it('reads the same value as parseJson, with exact numbers', () => {
    fc.assert(
      fc.property(anyJsonText, (text) => {
        const { root, fault, repeated } = locateJson(text, bounds)
        expect(fault).to.equal(undefined)
        if (repeated.length > 0) return
        expect(JSON.stringify(toValue(root))).to.equal(JSON.stringify(parseJson(text)))
      }),
    )
  })

  it('knows the position of each value and each name', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.constantFrom(undefined, 1, '\t'), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), undefined, indent)
        const { root } = locateJson(text, bounds)
        if (root === undefined) throw new Error('there is no value')
        for (const [at, source] of placesIn(root)) expect(text.slice(at, at + source.length)).to.equal(source)
      }),
    )
  })

  it('rejects exactly the texts that JSON.parse rejects', () => {
    const part = fc.constantFrom(
      ...['{', '}', '[', ']', ':', ',', '"a"', '"\\u00e4"', '"\\x"', '"', '\\', '\u0000', '\ud800', "'"],
      ...['1', '-', '0', '.5', 'e3', 'E', '+', 'true', 'nul', 'NaN', ' ', '\n', '\r', '\t', '\u00a0', '\f'],
      ...['//', '/*', '*/', '\ufeff', '\u2028'],
    )
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (given) => {
        const { fault } = locateJson(given, bounds)
        expect(fault === undefined, given).to.equal(isJson(given))
        if (fault) expect(fault.at).to.be.within(0, given.length)
      }),
      { numRuns: 20 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  const faults: [string, number, string][] = [
    ['', 0, 'expected a JSON value'],
    ['[1,]', 3, 'expected a JSON value'],
    ['[}', 1, 'expected a JSON value'],
    ['[1', 2, 'expected a comma or ]'],
    ['{"a":1,}', 7, 'expected a key in double quotes'],
    ['{1', 1, 'expected a key in double quotes'],
    ['{"a" 1}', 5, 'expected a colon'],
    ['{"a":1 "b"', 7, 'expected a comma'],
    ['{} {}', 3, 'unexpected text after the end of the JSON value'],
    ['[true"a"]', 5, 'expected a comma'],
    ['["a\n"]', 1, 'not a JSON string'],
    ['['.repeat(100_000), 101, 'nested too deeply'],
  ]
  for (const [text, at, words] of faults) {
    it(`names what is missing in ${JSON.stringify(text.slice(0, 20))}`, () => {
      expect(locateJson(text, bounds).fault).to.deep.equal({ at, words })
    })
  }

  it('returns the part of the value before a limit is exceeded', () => {
    const { root, fault } = locateJson('{"a": [1, 2], "b": 3}', { depth: 100, values: 3 })
    expect(fault).to.deep.equal({ at: 10, words: 'the file has more than 3 values' })
    expect(toValue(root)).to.deep.equal({ a: [1] })
  })

  it('lists every name that an object contains twice', () => {
    const { repeated } = locateJson('{"a": {"a": 1, "b": 2, "\\u0062": 3}, "": 4, "a": 5}', bounds)
    expect(repeated).to.deep.equal([
      { name: 'b', at: 23 },
      { name: 'a', at: 44 },
    ])
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
