import { ControlStripper } from '../../view/strip-controls.ts'
import { displayWidth } from './display-width.ts'

/** Takes an answer as it comes, and says what to append to the screen. */
export interface AnswerWriter {
  /** What can be shown now; '' while something is undecided. */
  push(text: string): string
  /** The rest. Ends with exactly one newline, unless nothing was shown. */
  end(): string
  /** Of the cursor after what was given out: 0 at the start of a line. */
  readonly column: number
}

/**
 * An answer as it came, without control characters. Lines are left to the terminal to wrap, so that
 * `column` may be beyond its width.
 */
export class PlainWriter implements AnswerWriter {
  column = 0
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
    this.column = 0
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
    this.#advance(shown)
    return shown
  }

  #advance(shown: string): void {
    const lineStart = shown.lastIndexOf('\n') + 1
    if (lineStart > 0) this.column = 0
    for (const [index, part] of shown.slice(lineStart).split('\t').entries()) {
      if (index > 0) this.column += tabWidth - (this.column % tabWidth)
      this.column += displayWidth(part)
    }
  }
}

const tabWidth = 8
