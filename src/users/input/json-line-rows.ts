import type { InputRow, RowReader } from './input-row.ts'
import { jsonRow, type RowRules } from './object-row.ts'
import { TextLines } from './text/text-lines.ts'

const blank = /^\s*$/

/** Reads JSONL: one object per line. */
export class JsonLineRows implements RowReader {
  readonly #lines: TextLines
  readonly #rules: RowRules
  #index = 0

  constructor(name: string, rules: RowRules) {
    this.#lines = new TextLines(name)
    this.#rules = rules
  }

  take(text: string, isLast: boolean): InputRow[] {
    const rows: InputRow[] = []
    for (const { line, text: lineText } of this.#lines.take(text, isLast)) {
      if (blank.test(lineText)) continue
      const raw = lineText.endsWith('\r') ? lineText.slice(0, -1) : lineText
      rows.push(jsonRow({ index: this.#index++, raw, start: { line, column: 1 } }, this.#rules))
    }
    return rows
  }
}
