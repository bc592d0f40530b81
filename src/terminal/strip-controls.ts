/**
 * Removes the characters with which a text could steer a terminal: C0 except tab and newline, DEL, C1,
 * and the Unicode bidirectional controls, which change the reading order.
 */
export function stripControls(text: string): string {
  return text.replace(controls, '')
}

/** JSON of a value on one line, with control characters escaped, so that a reader sees them. */
export function visibleJson(value: unknown): string {
  return showControls(JSON.stringify(value))
}

/** A text on one line, with control characters and line breaks as JSON escapes. */
export function showControls(text: string): string {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text
    .replace(/[\t\n]/g, toEscape)
    .replace(controls, toEscape)
    .replace(lineBreaks, toEscape)
}

/**
 * Strips a text that arrives in parts. Removes whole escape sequences (ECMA-48), also if they are split
 * between parts: of ESC [ 31 m nothing remains. Of a malformed sequence, only the control characters
 * are removed. A control string, for example a title (OSC), counts as one only if BEL or ST ends it on
 * the same line and within 4,096 characters, so that an unterminated one hides no text.
 */
export class ControlStripper {
  #state: 'text' | 'esc' | 'sequence' | 'string' | 'string-esc' = 'text'
  /** The beginning of an unfinished sequence. */
  #held = ''
  /** First half of a surrogate pair that was split. */
  #half = ''

  push(text: string): string {
    const all = this.#half + text
    this.#half = isHighSurrogate(all.charCodeAt(all.length - 1)) ? all.slice(-1) : ''
    // A lone surrogate is displayed as U+FFFD, but measured with width 0.
    return this.#read((this.#half === '' ? all : all.slice(0, -1)).toWellFormed())
  }

  /** The text that was held back. An unfinished sequence has none, but an unfinished string has. */
  end(): string {
    const rest = this.#read(this.#half.toWellFormed())
    this.#half = ''
    const isString = this.#state === 'string' || this.#state === 'string-esc'
    return rest + (isString ? this.#giveUp() : '')
  }

  #read(text: string): string {
    let out = ''
    let at = 0
    while (at < text.length) {
      if (this.#state === 'text') {
        introducers.lastIndex = at
        const index = introducers.exec(text)?.index ?? text.length
        out += stripControls(text.slice(at, index))
        if (index < text.length) this.#begin(text.charAt(index))
        at = index + 1
        continue
      }
      const unit = text.charAt(at)
      const verdict = this.#continue(unit)
      if (verdict === 'malformed') out += this.#giveUp()
      else {
        this.#held += unit
        at++
        if (verdict === 'ends') this.#forget()
      }
    }
    return out
  }

  #begin(introducer: string): void {
    this.#held = introducer
    if (introducer === esc) this.#state = 'esc'
    else this.#state = introducer === '\u009b' ? 'sequence' : 'string'
  }

  /** Whether the sequence continues with a character, ends with it, or is malformed. */
  #continue(unit: string): 'continues' | 'ends' | 'malformed' {
    switch (this.#state) {
      case 'esc':
        if (this.#held === esc && unit === '[') this.#state = 'sequence'
        else if (this.#held === esc && /[P\]X^_]/.test(unit)) this.#state = 'string'
        else if (/[0-~]/.test(unit)) return 'ends'
        else if (!/[ -/]/.test(unit) || this.#held.length >= longestSequence) return 'malformed'
        return 'continues'
      case 'sequence':
        if (/[@-~]/.test(unit)) return 'ends'
        return /[ -?]/.test(unit) && this.#held.length < longestSequence ? 'continues' : 'malformed'
      case 'string-esc':
        return unit === '\\' ? 'ends' : 'malformed'
      default:
        if (unit === '\u0007' || unit === '\u009c') return 'ends'
        if (unit === '\n' || isC1Introducer(unit) || this.#held.length >= longestString) return 'malformed'
        if (unit === esc) this.#state = 'string-esc'
        return 'continues'
    }
  }

  #giveUp(): string {
    const text = stripControls(this.#held)
    const mayBegin = this.#state === 'string-esc'
    this.#forget()
    if (mayBegin) this.#begin(esc)
    return text
  }

  #forget(): void {
    this.#state = 'text'
    this.#held = ''
  }
}

const esc = '\u001b'
const longestSequence = 256
const longestString = 4096

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Other line breaks (YAML 1.1 section 4.2), and characters that YAML forbids (YAML 1.2.2 section 5.1). */
const lineBreaks = /[\u2028\u2029\ufffe\uffff]/g

/** ESC, and the C1 forms of DCS, SOS, CSI, OSC, PM and APC. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const introducers = /[\u001b\u0090\u0098\u009b\u009d-\u009f]/g

function isC1Introducer(unit: string): boolean {
  return unit > '\u007f' && unit < '\u00a0' && unit.search(introducers) === 0
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
