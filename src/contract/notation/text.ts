import { isUtf8 } from 'node:buffer'

/** A text without these characters at its end. A regular expression would try the end of each run of them. */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** A text that others may have written, for a message: as JSON, unless it has only visible ASCII characters. */
export function quoteForeign(text: string): string {
  if (/^[!-~]+$/.test(text)) return text
  return escapeUnits(JSON.stringify(text), /[^ -~]/g)
}

/** The text with the UTF-16 code units of a pattern as JSON escapes. */
export function escapeUnits(text: string, pattern: RegExp): string {
  return text.replace(pattern, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Lines of a message. A line break in one of them, such as that of a key in a file, is escaped. */
export function joinLines(lines: readonly string[]): string {
  return lines.map((line) => line.replace(/\r?\n|\r/g, '\\n')).join('\n')
}

/** A string with expanded references, and the faults of the others. */
export interface Expansion {
  text: string
  /** Whether there was a reference. */
  expanded: boolean
  /** `reference` is the source text of the reference. */
  faults: { reference: string; words: string }[]
}

const reference = /\$\$\{|\$\{([^}]*)\}?/g

/** Replaces each `${NAME}` by the environment variable; `$${` is a literal `${`. */
export function expandReferences(text: string, env: NodeJS.ProcessEnv): Expansion {
  const faults: Expansion['faults'] = []
  let expanded = false
  const result = text.replace(reference, (whole: string, name: string | undefined) => {
    if (name === undefined) return '${'
    if (!/^[A-Za-z_]\w*$/.test(name) || !whole.endsWith('}')) {
      const words = `contains ${whole}, which is not a valid reference; write $\${ for a literal $\{`
      faults.push({ reference: whole, words })
      return whole
    }
    expanded = true
    // Own properties only, because every object has a `constructor`.
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value === undefined) faults.push({ reference: whole, words: `needs ${name}, which is not set` })
    return value ?? whole
  })
  return { text: result, expanded, faults }
}

/** The hint for converting a text that is not UTF-8. @param name of a file, or `stdin` */
export function conversionHint(first: Uint8Array, name: string, platform = process.platform): string {
  // Without iconv, but in Windows PowerShell `>` writes UTF-16.
  if (platform === 'win32') return 'Save the text as UTF-8, for example in Notepad.'
  const encoding = foreignEncodingOf(first)
  const input = name !== 'stdin' && /^[\w./-]+$/.test(name) ? ` ${name}` : ''
  const command = `iconv -f ${encoding ?? 'WINDOWS-1252'} -t UTF-8${input}`
  return encoding === undefined ? `Convert it, for example with: ${command}` : `Convert it with: ${command}`
}

/**
 * The encoding of a text by its first bytes: a byte order mark (Unicode 16, section 23.8), or a 0 in every other
 * byte. With a byte order mark it is UTF-16 without a byte order, so that iconv removes the mark.
 * @returns undefined if the bytes do not show it
 */
export function foreignEncodingOf([a, b, c, d]: Uint8Array): string | undefined {
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? 'UTF-32' : 'UTF-16'
  if (a === 0xfe && b === 0xff) return 'UTF-16'
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return 'UTF-32'
  if (a && b === 0 && c && d === 0) return 'UTF-16LE'
  return a === 0 && b && c === 0 && d ? 'UTF-16BE' : undefined
}

/** Describes a text that is not UTF-8, for an error message after its name and "is". */
export function encodingWords(first: Uint8Array): string {
  const encoding = foreignEncodingOf(first)
  return encoding === undefined ? 'not UTF-8 text' : `${encoding} text, not UTF-8`
}

/** The text in UTF-8 bytes, whose last character may be cut. Undefined for other encodings and binary data. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

export const invalidUtf8 = 'The response is not valid UTF-8 (invalid bytes are replaced by U+FFFD)'

/** The fault of a whole response body. Undefined for valid UTF-8. */
export function faultOfUtf8(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? undefined : invalidUtf8
}

/** Decodes UTF-8 that arrives in pieces. Invalid bytes become U+FFFD. */
export class CheckingDecoder {
  /** Whether all bytes so far are valid. */
  isValid = true
  readonly #decoder = new TextDecoder()
  readonly #strict = new TextDecoder('utf-8', { fatal: true })

  /** @param bytes the next piece; omitted at the end */
  decode(bytes?: Uint8Array): string {
    const stream = bytes !== undefined
    try {
      this.#strict.decode(bytes, { stream })
    } catch {
      this.isValid = false
    }
    return this.#decoder.decode(bytes, { stream })
  }
}
