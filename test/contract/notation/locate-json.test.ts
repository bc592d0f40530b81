import { expect } from 'chai'
import fc from 'fast-check'
import { parseJson } from '../../../src/contract/notation/exact-json.ts'
import { type Expected, locateJson } from '../../../src/contract/notation/locate-json.ts'
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
      { numRuns: 5_000 },
    )
  })

  const faults: [string, number, Expected | 'less depth' | 'fewer values'][] = [
    ['', 0, 'value'],
    ['[1,]', 3, 'value'],
    ['[}', 1, 'value or ]'],
    ['[1}', 2, 'comma or ]'],
    ['{"a":1,}', 7, 'name'],
    ['{1', 1, 'name or }'],
    ['{"a" 1}', 5, 'colon'],
    ['{"a":1 "b"', 7, 'comma or }'],
    ['{} {}', 3, 'end of text'],
    ['[01]', 1, 'value'],
    ['[1x]', 1, 'value'],
    ['[true"a"]', 5, 'comma or ]'],
    ['{"a":1 // comment\n}', 7, 'comma or }'],
    [`${'['.repeat(102)}`, 101, 'less depth'],
    ['['.repeat(100_000), 101, 'less depth'],
  ]
  for (const [text, at, expected] of faults) {
    it(`names what is missing in ${JSON.stringify(text.slice(0, 20))}`, () => {
      expect(locateJson(text, bounds).fault).to.deep.equal({ at, expected })
    })
  }

  it('returns the part of the value before a limit is exceeded', () => {
    const { root, fault } = locateJson('{"a": [1, 2], "b": 3}', { depth: 100, values: 3 })
    expect(fault).to.deep.equal({ at: 10, expected: 'fewer values' })
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
