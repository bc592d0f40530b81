import { ControlStripper } from '../strip-controls.ts'

/** Takes an answer as it comes, and says what to append to the screen. */
export interface ReplyWriter {
  /** What can be shown now; '' while something is undecided. */
  push(text: string): string
  /** The rest. Ends with exactly one newline, unless nothing was shown. */
  end(): string
}

/** An answer as it came, without control characters. LineOutput are left to the terminal to wrap. */
export class PlainWriter implements ReplyWriter {
  #stripper = new ControlStripper()
  /** Newlines that may turn out to be the last. */
  #newlines = ''
  #hasShown = false

  push(text: string): string {
    return this.#show(this.#stripper.push(text))
  }

  end(): string {
    const rest = this.#show(this.#stripper.end())
    if (!this.#hasShown) return ''
    this.#newlines = ''
    this.#hasShown = false
    return `${rest}\n`
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
