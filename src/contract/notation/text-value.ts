import { numberOf } from './exact-json.ts'

/** Converts a text from a command line or an environment variable. A text that is not of the type is unchanged. */
export function parseValue(type: 'string' | 'boolean' | 'integer' | 'list', text: string): unknown {
  if (type === 'boolean') return parseBoolean(text) ?? text
  if (type === 'integer') return integerOf(text) ?? text
  return text
}

/** Also accepts a plus and leading zeros, which JSON does not. */
function integerOf(text: string): unknown {
  const [, minus = '', digits] = /^(?:\+|(-))?(\d{1,1000})$/.exec(text) ?? []
  return digits === undefined ? undefined : numberOf(minus + digits.replace(/^0+(?=\d)/, ''))
}

const booleans = new Map([
  ['on', true],
  ['true', true],
  ['off', false],
  ['false', false],
])

/** Reads a boolean from a command line or a CSV cell. */
export function parseBoolean(text: string): boolean | undefined {
  return booleans.get(text.toLowerCase())
}

export const booleanWords = 'on, off, true, or false'
