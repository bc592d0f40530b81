import { ControlStripper } from '../strip-controls.ts'

/** Turns a reply, while it arrives, into text for the screen. */
export interface ReplyWriter {
  /** The text to append now; empty while a decision needs more input. */
  push(text: string): string
  /** The rest of the text. Ends with exactly one newline, unless nothing was shown. */
  end(): string
}

/** A reply as it arrives, without control characters. The terminal wraps its lines. */
export class PlainWriter implements ReplyWriter {
  #stripper = new ControlStripper()
  /** Newlines that may be the last characters. */
  #newlines = ''
  #hasShown = false

  push(text: string): string {
    return this.#show(this.#stripper.push(text))
  }

  end(): string {
    const rest = this.#show(this.#stripper.end())
    return this.#hasShown ? `${rest}\n` : ''
  }

  #show(text: string): string {
    let length = text.length
    while (length > 0 && text.charAt(length - 1) === '\n') length--
    if (length === 0) {
      this.#newlines += text
      return ''
    }
    const shown = this.#newlines + text.slice(0, length)
    this.#newlines = text.slice(length)
    this.#hasShown = true
    return shown
  }
}
