import type { InputRow, RowReader } from './input-row.ts'
import { largestRow, rowTooLarge } from './largest-row.ts'
import { type Judgement, jsonRow } from './object-row.ts'

const blank = /^\s*$/

/** Reads JSONL: an object a line. */
export class JsonLineRows implements RowReader {
  readonly #name: string
  readonly #judgement: Judgement
  #text = ''
  #line = 1
  #index = 0

  constructor(name: string, judgement: Judgement) {
    this.#name = name
    this.#judgement = judgement
  }

  take(text: string, isLast: boolean): InputRow[] {
    const all = this.#text + text
    const rows: InputRow[] = []
    let at = 0
    while (at < all.length) {
      const newline = all.indexOf('\n', at)
      const end = newline === -1 ? all.length : newline
      if (end - at > largestRow) throw rowTooLarge(this.#name, this.#line)
      if (newline === -1 && !isLast) break
      const raw = all.slice(at, all.charAt(end - 1) === '\r' && end > at ? end - 1 : end)
      if (!blank.test(raw)) {
        rows.push(
          jsonRow({ index: this.#index++, raw, start: { line: this.#line, column: 1 } }, this.#judgement),
        )
      }
      this.#line++
      at = end + 1
    }
    this.#text = all.slice(at)
    return rows
  }
}
