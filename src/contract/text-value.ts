import { numberOf } from './exact-json.ts'

/** A text for a value of this type, as a command line or an environment has it; what is none stays a text. */
export function valueOfText(type: 'string' | 'boolean' | 'integer' | 'list', text: string): unknown {
  if (type === 'boolean') return readSwitch(text) ?? text
  if (type === 'integer') return integerOf(text) ?? text
  return text
}

/** With a plus, or with zeros before it, it is none of JSON's. */
function integerOf(text: string): unknown {
  const [, minus = '', digits] = /^(?:\+|(-))?0*(\d+)$/.exec(text) ?? []
  return digits === undefined ? undefined : numberOf(`${minus}${digits}`)
}

const switches = new Map([
  ['on', true],
  ['true', true],
  ['off', false],
  ['false', false],
])

/** A boolean as a command line or a cell of CSV has it; undefined for any other text. */
export function readSwitch(text: string): boolean | undefined {
  return switches.get(text.toLowerCase())
}

export const switchWords = 'on, off, true, or false'
