import type { InputRow, RowReader } from './input-row.ts'
import { jsonRow, type RowRules } from './object-row.ts'
import { TextLines } from './text-lines.ts'

const blank = /^\s*$/

/** Reads JSONL: an object a line. */
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
    for (const { line, text: whole } of this.#lines.take(text, isLast)) {
      if (blank.test(whole)) continue
      const raw = whole.endsWith('\r') ? whole.slice(0, -1) : whole
      rows.push(jsonRow({ index: this.#index++, raw, start: { line, column: 1 } }, this.#rules))
    }
    return rows
  }
}
