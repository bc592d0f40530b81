import { expect } from 'chai'
import fc from 'fast-check'
import { CORE_SCHEMA, load, YAML11_SCHEMA } from 'js-yaml'
import yaml from 'yaml'
import {
  canonicalNumber,
  ExactNumber,
  mayHoldExactNumbers,
  numberOf,
  parseJson,
  withDoubles,
} from '../../../src/contract/notation/exact-json.ts'
import { locateJson } from '../../../src/contract/notation/locate-json.ts'
import type { Located } from '../../../src/contract/notation/located.ts'
import { yamlReading, yamlWriting } from '../../../src/contract/notation/yaml-scalars.ts'
import { readSettingsFiles } from '../../../src/settings/file/read-settings-files.ts'
import { settingsFileView } from '../../../src/view/settings-file-view.ts'
import { forAll, forAllTimes } from '../../support/for-all.ts'
import { anyJsonText, anyNumberText, anyText } from '../any-json.ts'

describe('JSON with exact numbers', () => {
  it('is written as it was read, with any numbers', () =>
    forAllTimes(3, anyJsonText, (text) => {
      expect(JSON.stringify(parseJson(text))).to.equal(text)
    }))

  it('finds numbers in every position and between any white space', () =>
    forAllTimes(
      3,
      anyNumberText,
      fc.constantFrom('', ' ', '\n', '\r\n', '\t'),
      fc.constantFrom('N', '[N]', '[0,N]', '{"a":N}', '{"a":{"b":[{},N,1]}}', '["\\"",N]'),
      (number, space, shape) => {
        const text = shape.replace('N', () => `${space}${number}${space}`)
        expect(JSON.stringify(parseJson(text))).to.equal(shape.replace('N', () => number))
      },
    ))

  it('is parsed without a reviver if only its texts look like such numbers', () => {
    for (const text of ['{"at":"2026-01-01T08:30:00.000Z"}', '{"at":"2026-01-01T08:30:00.500000+00:00"}'])
      expect(mayHoldExactNumbers(text)).to.equal(false)
    for (const number of ['1.0', '0.500', '-2.50'])
      for (const text of [`[${number}]`, `{"a":${number}}`, `[${number} ,1]`, number]) {
        expect(mayHoldExactNumbers(text)).to.equal(true)
        expect(JSON.stringify(parseJson(text))).to.equal(text.replace(' ', ''))
      }
  })

  it('uses a double if JSON.stringify writes the number in the same way', () => {
    const plain = fc.oneof(fc.maxSafeInteger(), fc.float({ noNaN: true, noDefaultInfinity: true }))
    forAll(plain, (number) => {
      const text = JSON.stringify(number)
      fc.pre(!text.includes('e') && Math.abs(number) <= Number.MAX_SAFE_INTEGER)
      expect(parseJson(text)).to.equal(JSON.parse(text))
    })
  })

  it('reads every text like JSON.parse, except for the exact numbers', () => {
    const outcome = (read: () => unknown) => {
      try {
        return JSON.stringify(read(), (_, value) => (typeof value === 'object' ? value : String(value)))
      } catch (error) {
        return (error as Error).name
      }
    }
    forAll(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(JSON.stringify(outcome(() => nearest(parseJson(text))))).to.equal(
        JSON.stringify(outcome(() => JSON.parse(text))),
      )
    })
  })

  for (const [one, other, isSame] of [
    ['1.0', '1', true],
    ['1E5', '100000', true],
    ['-0', '0', true],
    ['10e399', '1e400', true],
    ['0.10', '1e-1', true],
    ['9007199254740993', '9007199254740992', false],
    ['1e400', '1e401', false],
    ['0.1', '0.10000000000000000001', false],
    ['-1', '1', false],
  ] as const)
    it(`treats ${one} and ${other} as ${isSame ? 'one number' : 'two numbers'}`, () =>
      expect(canonicalNumber(numberOf(one)) === canonicalNumber(numberOf(other))).to.equal(isSame))

  for (const [source, double] of [
    ['9007199254740993', Number.MAX_SAFE_INTEGER],
    ['-1e400', Number.MIN_SAFE_INTEGER],
    ['4096.0', 4096],
    ['0.10', 0.1],
    ['1.00000000000000000001', 0.5],
    ['-1e-400', -0.5],
  ] as const)
    it(`validates ${source} as ${double}, which is an integer exactly if the number is one`, () =>
      expect(withDoubles({ a: [numberOf(source)] })).to.deep.equal({ a: [double] }))
})

/** The value with each exact number replaced by the nearest double. */
function nearest(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(nearest)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, nearest(inner)]))
}

const bounds = { depth: 100 }

function toValue(located: Located | undefined): unknown {
  if (located?.kind === 'scalar') return located.value
  if (located?.kind === 'list') return located.items.map(toValue)
  return Object.fromEntries(located?.entries.map(({ key, value }) => [key, toValue(value)]) ?? [])
}

function* placesIn(located: Located): Generator<[at: number, source: string]> {
  if (located.kind === 'list') for (const item of located.items) yield* placesIn(item)
  if (located.kind === 'map')
    for (const { key, keyAt, value } of located.entries) {
      yield [keyAt, JSON.stringify(key)]
      yield* placesIn(value)
    }
  if (located.kind === 'scalar') yield [located.at, JSON.stringify(located.value)]
  else yield [located.at, located.kind === 'map' ? '{' : '[']
}

describe('locateJson', () => {
  it('reads the same value as parseJson, with exact numbers', () =>
    forAll(anyJsonText, (text) => {
      const { root, fault, repeated } = locateJson(text, bounds)
      expect(fault).to.equal(undefined)
      if (repeated.length > 0) return
      expect(JSON.stringify(toValue(root))).to.equal(JSON.stringify(parseJson(text)))
    }))

  it('knows the position of each value and each name', () =>
    forAll(fc.json({ maxDepth: 4 }), fc.constantFrom(undefined, 1, '\t'), (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), undefined, indent)
      const { root } = locateJson(text, bounds)
      if (root === undefined) throw new Error('there is no value')
      for (const [at, source] of placesIn(root)) expect(text.slice(at, at + source.length)).to.equal(source)
    }))

  it('rejects exactly the texts that JSON.parse rejects', () => {
    const part = fc.constantFrom(
      ...['{', '}', '[', ']', ':', ',', '"a"', '"\\u00e4"', '"\\x"', '"', '\\', '\u0000', '\ud800', "'"],
      ...['1', '-', '0', '.5', 'e3', 'E', '+', 'true', 'nul', 'NaN', ' ', '\n', '\r', '\t', '\u00a0', '\f'],
      ...['//', '/*', '*/', '\ufeff', '\u2028'],
    )
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))
    forAllTimes(20, text, (given) => {
      const { fault } = locateJson(given, bounds)
      expect(fault === undefined, given).to.equal(isJson(given))
      if (fault) expect(fault.at).to.be.within(0, given.length)
    })
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
  for (const [text, at, words] of faults)
    it(`names what is missing in ${JSON.stringify(text.slice(0, 20))}`, () =>
      expect(locateJson(text, bounds).fault).to.deep.equal({ at, words }))

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

const write = (value: unknown) => yaml.stringify(value, yamlWriting(value))
const read = (text: string) => yaml.parseDocument(text, yamlReading)

/** The value with the nearest doubles, as other readers have it. */
function doubles(text: string): unknown {
  return JSON.parse(text, (_, value) => (Object.is(value, -0) ? 0 : value))
}

describe('YAML', () => {
  it('written by chatctl is read back by chatctl with the same numbers', () =>
    forAllTimes(3, anyJsonText, (text) => {
      const document = read(write(parseJson(text)))
      expect(document.errors).to.deep.equal([])
      expect(withOneSpelling(document.toJS())).to.equal(withOneSpelling(parseJson(text)))
    }))

  for (const [name, schema] of [
    ['1.2', CORE_SCHEMA],
    ['1.1', YAML11_SCHEMA],
  ] as const)
    it(`written by chatctl means the same to another reader of YAML ${name}`, () =>
      forAllTimes(3, anyJsonText, (text) => {
        const wanted = doubles(text)
        // js-yaml reads a number that is too large for a double as a text.
        fc.pre(!isHuge(wanted))
        const found = load(write(parseJson(text)), { schema })
        expect(JSON.stringify(found)).to.equal(JSON.stringify(wanted))
      }))

  it('contains no character that readers reject or treat as a line break', () =>
    forAll(anyJsonText, (text) => {
      expect(write(parseJson(text))).not.to.match(
        /[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u,
      )
    }))

  it('of settings export is read back by settings apply with any text', () =>
    forAllTimes(3, anyText, (text) => {
      const file = String(settingsFileView.text?.({ app_name: text }))
      expect(readSettingsFiles([{ name: 's.yaml', text: file }]).settings).to.deep.equal({ app_name: text })
    }))

  for (const [text, json] of [
    ['9007199254740993', '9007199254740993'],
    ['+012', '12'],
    ['-.5', '-0.5'],
    ['5.', '5'],
    ['1.50', '1.50'],
    ['1E400', '1E400'],
    ['0x20000000000001', '9007199254740993'],
    ['0o400000000000000001', '9007199254740993'],
    ['!!int 9007199254740993', '9007199254740993'],
    ['!!float 1234567890123456789', '1234567890123456789'],
    ['!!str 1.0', '"1.0"'],
    ['{1234567890123456789: 1}', '{"1234567890123456789":1}'],
    ['{1.0: 1}', '{"1.0":1}'],
  ] as const)
    it(`with the value ${text} is sent as ${json}`, () =>
      expect(JSON.stringify(read(text).toJS())).to.equal(json))

  it('is rejected if a name occurs twice, quoted or as a number', () => {
    for (const text of ['1.0: a\n1.0: b\n', '1: a\n"1": b\n'])
      expect(read(text).errors.map(({ code }) => code)).to.deep.equal(['DUPLICATE_KEY'])
  })
})

/** Readers of YAML 1.1 require a decimal point and a sign in a number with an exponent. */
function withOneSpelling(value: unknown): string {
  return JSON.stringify(value, (_, inner) => {
    const source = inner === null || typeof inner !== 'object' ? undefined : Reflect.get(inner, 'rawJSON')
    if (typeof source !== 'string' || !/e/i.test(source)) return inner
    return new ExactNumber(
      source
        .toLowerCase()
        .replace(/^(-?\d+)e/, '$1.0e')
        .replace(/e(?=\d)/, 'e+'),
    )
  })
}

function isHuge(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity
  return Object.values(value).some(isHuge)
}
