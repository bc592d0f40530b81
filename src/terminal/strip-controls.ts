/**
 * Removes the characters by which a text could steer a terminal: C0 but for tab and newline, DEL,
 * C1, and the marks that reorder what is read (Unicode bidirectional controls).
 */
export function stripControls(text: string): string {
  return text.replace(controls, '')
}

/** JSON of a value in one line, with those characters as escapes: who decides on it sees that they are there. */
export function visibleJson(value: unknown): string {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(controls, toEscape).replace(lineBreaks, toEscape)
}

/**
 * Strips a text that comes in parts, and takes whole escape sequences (ECMA-48) out of it, however
 * they are cut: of ESC [ 31 m nothing is left. What looks like a sequence and turns out to be none
 * loses its control characters only. A string such as a title (OSC) is one only if it is ended by BEL
 * or ST on the same line and within 4,096 characters, so that no text is lost in one that never ends.
 */
export class ControlStripper {
  #state: 'text' | 'esc' | 'sequence' | 'string' | 'string-esc' = 'text'
  /** What came of a sequence that is not over. */
  #held = ''
  /** First half of a surrogate pair that was cut. */
  #half = ''

  push(text: string): string {
    const all = this.#half + text
    this.#half = isHighSurrogate(all.charCodeAt(all.length - 1)) ? all.slice(-1) : ''
    // Half a character would be shown as this one too, but measured as nothing.
    return this.#read((this.#half === '' ? all : all.slice(0, -1)).toWellFormed())
  }

  /** What was held back and is text after all. A sequence that was cut off has none. */
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
      if (verdict === 'none') out += this.#giveUp()
      else {
        this.#held += unit
        at++
        if (verdict === 'over') this.#forget()
      }
    }
    return out
  }

  #begin(introducer: string): void {
    this.#held = introducer
    if (introducer === esc) this.#state = 'esc'
    else this.#state = introducer === '\u009b' ? 'sequence' : 'string'
  }

  /** What a character makes of the sequence: goes on, is over with it, or never was one. */
  #continue(unit: string): 'on' | 'over' | 'none' {
    switch (this.#state) {
      case 'esc':
        if (this.#held === esc && unit === '[') this.#state = 'sequence'
        else if (this.#held === esc && /[P\]X^_]/.test(unit)) this.#state = 'string'
        else if (/[0-~]/.test(unit)) return 'over'
        else if (!/[ -/]/.test(unit) || this.#held.length >= longestSequence) return 'none'
        return 'on'
      case 'sequence':
        if (/[@-~]/.test(unit)) return 'over'
        return /[ -?]/.test(unit) && this.#held.length < longestSequence ? 'on' : 'none'
      case 'string-esc':
        return unit === '\\' ? 'over' : 'none'
      default:
        if (unit === '\u0007' || unit === '\u009c') return 'over'
        if (unit === '\n' || isC1Introducer(unit) || this.#held.length >= longestString) return 'none'
        if (unit === esc) this.#state = 'string-esc'
        return 'on'
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
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Further line breaks (YAML 1.1 section 4.2), and what no YAML document may hold (YAML 1.2.2 section 5.1). */
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
