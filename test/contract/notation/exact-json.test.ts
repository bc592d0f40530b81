import { expect } from 'chai'
import fc from 'fast-check'
import {
  canonicalNumber,
  ExactNumber,
  mayHoldExactNumbers,
  numberOf,
  parseJson,
  withDoubles,
} from '../../../src/contract/notation/exact-json.ts'
import { anyJsonText, anyNumberText } from '../any-json.ts'

describe('JSON with exact numbers', () => {
  it('is written as it was read, with any numbers', () => {
    fc.assert(
      fc.property(anyJsonText, (text) => {
        expect(JSON.stringify(parseJson(text))).to.equal(text)
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('finds numbers in every position and between any white space', () => {
    fc.assert(
      fc.property(
        anyNumberText,
        fc.constantFrom('', ' ', '\n', '\r\n', '\t'),
        fc.constantFrom('N', '[N]', '[0,N]', '{"a":N}', '{"a":{"b":[{},N,1]}}', '["\\"",N]'),
        (number, space, shape) => {
          const text = shape.replace('N', () => `${space}${number}${space}`)
          expect(JSON.stringify(parseJson(text))).to.equal(shape.replace('N', () => number))
        },
      ),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('is parsed without a reviver if only its texts look like such numbers', () => {
    for (const text of ['{"at":"2026-01-01T08:30:00.000Z"}', '{"at":"2026-01-01T08:30:00.500000+00:00"}']) {
      expect(mayHoldExactNumbers(text)).to.equal(false)
    }
    for (const number of ['1.0', '0.500', '-2.50']) {
      for (const text of [`[${number}]`, `{"a":${number}}`, `[${number} ,1]`, number]) {
        expect(mayHoldExactNumbers(text)).to.equal(true)
        expect(JSON.stringify(parseJson(text))).to.equal(text.replace(' ', ''))
      }
    }
  })

  it('uses a double if JSON.stringify writes the number in the same way', () => {
    const plain = fc.oneof(fc.maxSafeInteger(), fc.float({ noNaN: true, noDefaultInfinity: true }))
    fc.assert(
      fc.property(plain, (number) => {
        const text = JSON.stringify(number)
        fc.pre(!text.includes('e') && Math.abs(number) <= Number.MAX_SAFE_INTEGER)
        expect(parseJson(text)).to.equal(JSON.parse(text))
      }),
    )
  })

  it('reads every text like JSON.parse, except for the exact numbers', () => {
    const outcome = (read: () => unknown) => {
      try {
        return JSON.stringify(read(), (_, value) => (typeof value === 'object' ? value : String(value)))
      } catch (error) {
        return (error as Error).name
      }
    }
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(JSON.stringify(outcome(() => nearest(parseJson(text))))).to.equal(
          JSON.stringify(outcome(() => JSON.parse(text))),
        )
      }),
    )
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
  ] as const) {
    it(`treats ${one} and ${other} as ${isSame ? 'one number' : 'two numbers'}`, () => {
      expect(canonicalNumber(numberOf(one)) === canonicalNumber(numberOf(other))).to.equal(isSame)
    })
  }

  for (const [source, double] of [
    ['9007199254740993', Number.MAX_SAFE_INTEGER],
    ['-1e400', Number.MIN_SAFE_INTEGER],
    ['4096.0', 4096],
    ['0.10', 0.1],
    ['1.00000000000000000001', 0.5],
    ['-1e-400', -0.5],
  ] as const) {
    it(`validates ${source} as ${double}, which is an integer exactly if the number is one`, () => {
      expect(withDoubles({ a: [numberOf(source)] })).to.deep.equal({ a: [double] })
    })
  }
})

/** The value with each exact number replaced by the nearest double. */
function nearest(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(nearest)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, nearest(inner)]))
}
