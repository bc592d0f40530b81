import { maxRowLength, rowTooLarge } from '../input-row.ts'

/** A line of the input, from 1, without its newline. */
export interface TextLine {
  line: number
  text: string
}

/** Splits chunks of text into lines. */
export class TextLines {
  readonly #name: string
  #pending = ''
  #line = 1

  /** @param name of the input, for errors */
  constructor(name: string) {
    this.#name = name
  }

  /**
   * @param isLast whether the text is the end of the input
   * @throws Failure `refused` for a line that is longer than `maxRowLength`
   */
  take(text: string, isLast: boolean): TextLine[] {
    const all = this.#pending + text
    const lines: TextLine[] = []
    let at = 0
    while (at < all.length) {
      const newline = all.indexOf('\n', at)
      const end = newline === -1 ? all.length : newline
      if (end - at > maxRowLength) throw rowTooLarge(this.#name, this.#line)
      if (newline === -1 && !isLast) break
      lines.push({ line: this.#line++, text: all.slice(at, end) })
      at = end + 1
    }
    this.#pending = all.slice(at)
    return lines
  }
}
