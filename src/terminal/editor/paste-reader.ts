import { cleanText } from './graphemes.ts'

const endMark = '\u001b[201~'

/** Collects a bracketed paste up to the mark of its end, in linear time however it was split. */
export class PasteReader {
  readonly #pieces: string[] = []
  /** The last characters so far, with which the mark may have begun. */
  #tail = ''

  /** Takes text from an index on; returns the index after the end mark, or undefined when it is yet to come. */
  take(input: string, at: number): number | undefined {
    const text = this.#tail + input.slice(at)
    const end = text.indexOf(endMark)
    const sure = end < 0 ? Math.max(0, text.length - endMark.length + 1) : end
    this.#pieces.push(text.slice(0, sure))
    const next = end < 0 ? undefined : at - this.#tail.length + end + endMark.length
    this.#tail = end < 0 ? text.slice(sure) : ''
    return next
  }

  /** What was pasted, cleaned. */
  get text(): string {
    return cleanText(this.#pieces.join('') + this.#tail)
  }
}
