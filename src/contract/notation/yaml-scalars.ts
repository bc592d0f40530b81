import type { CreateNodeOptions, ParseOptions, ScalarTag, SchemaOptions, Tags, ToStringOptions } from 'yaml'
import { ExactNumber, longNumber, maxNumberLength, numberOf } from './exact-json.ts'

/** YAML 1.2.2 section 10.3.2. */
const integer = /^(?:[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+)$/
const number = /^(?:[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|0o[0-7]+|0x[0-9a-fA-F]+)$/

/** Converts a YAML number to JSON syntax: no plus, no leading zeros, no leading or trailing point. */
function readNumber(text: string): number | ExactNumber {
  if (text.length > maxNumberLength) throw new SyntaxError(longNumber)
  if (/^0[ox]/.test(text)) return numberOf(String(BigInt(text)))
  const [, sign = '', digits = '', fraction = '', exponent = ''] =
    /^([-+]?)(\d*)(?:\.(\d*))?([eE].*)?$/.exec(text) ?? []
  const whole = digits.replace(/^0+/, '')
  return numberOf(`${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}${exponent}`)
}

/** In YAML 1.1, a number with an exponent needs a point and a sign of the exponent: 1e5 is a string. */
function writeNumber(source: string): string {
  const [, whole, fraction = '.0', e, sign = '+', exponent] =
    /^(-?\d+)(\.\d+)?([eE])([-+])?(\d+)$/.exec(source) ?? []
  return whole === undefined ? source : `${whole}${fraction}${e}${sign}${exponent}`
}

const numberTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test: number,
  identify: (value) => value instanceof ExactNumber,
  resolve: readNumber,
  stringify: ({ value }) => writeNumber(String(value)),
}

const integerTag: ScalarTag = {
  ...numberTag,
  tag: 'tag:yaml.org,2002:int',
  test: integer,
  identify: () => false,
}

/** A key is a string with the notation of the number: 1.0 is not the key 1. */
const keyTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: 'key',
  test: number,
  resolve: (text) => String(readNumber(text)),
}

/**
 * Strings that must be quoted with escapes: characters that are not printable, line breaks other than a line feed,
 * and byte order marks (YAML 1.2.2 sections 5.1 to 5.4; YAML 1.1 section 5.4), the special keys `=` and `<<` of
 * YAML 1.1, leading white space that a block would treat as its indentation (YAML 1.2.2 section 8.1.1.1), and a tab,
 * at which PyYAML ends an unquoted string.
 */
const isUnsafe = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|\p{Cs}|^(?:=|<<|\s+)$|^\s.*\n|^[^\n\t]*\t[^\n]*$/su.test(
    text,
  )
const unsafeUnits = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

const unsafeTextTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => typeof value === 'string' && isUnsafe(value),
  resolve: (text) => text,
  // The escapes of JSON are valid in YAML (YAML 1.2.2 section 5.7).
  stringify: ({ value }) => JSON.stringify(value).replace(unsafeUnits, escapeUnit),
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const before =
  (...own: ScalarTag[]) =>
  (tags: Tags): Tags => [...own, ...tags]

/** Options for reading YAML: numbers that no double can represent keep their notation. */
export const yamlReading: ParseOptions & SchemaOptions = { customTags: before(keyTag, numberTag, integerTag) }

/** Options for writing YAML: parsers of YAML 1.1 and 1.2 read the same value. */
export function yamlWriting(value: unknown): CreateNodeOptions & SchemaOptions & ToStringOptions {
  return {
    customTags: before(unsafeTextTag, numberTag),
    compat: 'yaml-1.1',
    aliasDuplicateObjects: false,
    // A top-level block scalar would not be indented, which YAML 1.1 parsers reject.
    blockQuote: typeof value !== 'string',
    // Over several lines, yaml 2.9 changes some spaces.
    doubleQuotedAsJSON: true,
  }
}
