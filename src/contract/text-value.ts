/** A text for a value of this type, as a command line or an environment has it; what is none stays a text. */
export function valueOfText(type: 'string' | 'boolean' | 'integer' | 'list', text: string): unknown {
  if (type === 'boolean') return readSwitch(text) ?? text
  if (type === 'integer') return /^[+-]?\d+$/.test(text) ? Number(text) : text
  return text
}

/** `on`, `off` and the words that people type for them; undefined for any other. */
export function readSwitch(text: string): boolean | undefined {
  if (['on', 'true', 'yes', '1'].includes(text.toLowerCase())) return true
  if (['off', 'false', 'no', '0'].includes(text.toLowerCase())) return false
  return undefined
}
