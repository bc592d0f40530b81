import { orElse } from '../or-else.ts'
import { withoutTrailing } from './text.ts'

declare global {
  interface JSON {
    rawJSON(source: string): object
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown
  }
}

/** Shared by the copies of the class in different bundles. */
const brand = Symbol.for('chatctl.ExactNumber')

/**
 * A JSON number that a double cannot represent, or that JSON.stringify would write differently:
 * 9007199254740993, 1.0, 1e400, -0. It is written as it was read. As a value, it is the nearest double.
 */
export class ExactNumber {
  static [Symbol.hasInstance](value: unknown): value is ExactNumber {
    return typeof value === 'object' && value !== null && brand in value
  }

  /** RFC 8259 section 6. */
  readonly source: string

  constructor(source: string) {
    this.source = source
  }

  get [brand](): true {
    return true
  }

  toJSON(): object {
    return JSON.rawJSON(this.source)
  }

  valueOf(): number {
    return Number(this.source)
  }

  toString(): string {
    return this.source
  }
}

/** Not a time such as 08:30:00.000Z: a number that ends in zero is followed by a comma, a bracket, or white space. */
const suspect = /[:[,]\s*(?:-0|-?\d(?:[\d.]{15}|\d*(?:\.\d*)?[eE]|\d*\.\d*0(?=[\s,\]}]|$)|\.000000))/
const loneNumber = /^\s*[-\d]/

/** False if a text has no such number. JSON.parse without a reviver is then sufficient, and five times as fast. */
export function mayHoldExactNumbers(text: string): boolean {
  return suspect.test(text) || loneNumber.test(text)
}

/** JSON.parse that returns an `ExactNumber` for each number that it would change. */
export function parseJson(text: string): unknown {
  const plain: unknown = JSON.parse(text)
  if (!mayHoldExactNumbers(text)) return plain
  return JSON.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? numberOf(source) : value,
  )
}

/** JSON as a value; undefined if it is invalid. The message of the parser is not used, because it quotes the text. */
export function tryParse(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  return orElse(() => parse(text), undefined)
}

const utf8 = new TextDecoder()

/** Parses JSON in UTF-8, and ignores a byte order mark. Undefined for invalid JSON. */
export function readJson(bytes: Uint8Array): unknown {
  return tryParse(utf8.decode(bytes), parseJson)
}

export const longNumber = 'a number must not have more than 1,000 characters'

/** Maximum characters of a number. Exact arithmetic takes time that is quadratic in them. */
export const maxNumberLength = 1_000

/** @param source a number as JSON has it (RFC 8259 section 6) @throws SyntaxError if it is too long */
export function numberOf(source: string): number | ExactNumber {
  if (source.length > maxNumberLength) throw new SyntaxError(longNumber)
  const number = Number(source)
  // YAML 1.1 reads some exponents that JavaScript writes as strings.
  const isKept = String(number) === source && Math.abs(number) <= Number.MAX_SAFE_INTEGER
  return isKept && !source.includes('e') ? number : new ExactNumber(source)
}

/** Whether a JSON value is a number. `Number(value)` is the nearest double. */
export function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber
}

/** Whether a JSON value is an object, and not an array, null, or a number. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  )
}

const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** A canonical notation: 1.0, 1, and 10e-1 are equal; 9007199254740993 and …992 are not. */
export function canonicalNumber(value: number | ExactNumber): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts.exec(String(value)) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = withoutTrailing(digits, '0')
  if (significant === '') return '0'
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length)
  return power === 0n ? `${sign}${significant}` : `${sign}${significant}e${power}`
}

/** Canonical JSON: without white space, names sorted by UTF-16 code units. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isNumber(value)) return canonicalNumber(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`)
  return `{${fields.join(',')}}`
}

/**
 * The value with doubles instead of exact numbers, for a schema check. Integers of any size remain integers.
 * Returns the value itself if it has no exact number.
 */
export function withDoubles(value: unknown): unknown {
  return holdsExactNumber(value) ? toDoubles(value) : value
}

/** Allocates nothing, because it runs for every message of a long history. */
function holdsExactNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(holdsExactNumber)
  if (brand in value) return true
  for (const key in value) if (holdsExactNumber((value as Record<string, unknown>)[key])) return true
  return false
}

function toDoubles(value: unknown): unknown {
  if (value instanceof ExactNumber) return doubleOf(value)
  if (Array.isArray(value)) return value.map(toDoubles)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toDoubles(inner)]))
}

function doubleOf(exact: ExactNumber): number {
  const double = Number(exact)
  const isWhole = !canonicalNumber(exact).includes('e-')
  if (isWhole) return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(double, Number.MAX_SAFE_INTEGER))
  if (!Number.isInteger(double)) return double
  return exact.source.startsWith('-') ? -0.5 : 0.5
}
