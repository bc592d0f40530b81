import { type JudgeMore, judgeRow, type SayFault } from '../rows/judge-row.ts'
import type { RowKind, UserRow } from '../rows/user-row.ts'
import { type CsvColumns, cellOffset, columnOf, readCsvHeader } from './csv-columns.ts'
import { type CsvRecord, CsvRecords } from './csv-records.ts'
import { type InputRow, inOrder, placeAfter, type RowFault, type RowReader } from './input-row.ts'

/** Reads CSV with a header. A cell without text is a field that is not given. */
export class CsvRows implements RowReader {
  readonly #name: string
  readonly #kind: RowKind
  readonly #records: CsvRecords
  readonly #judgeMore: JudgeMore | undefined
  #columns: CsvColumns | undefined
  #index = 0

  constructor(name: string, kind: RowKind, judgeMore: JudgeMore | undefined) {
    this.#name = name
    this.#kind = kind
    this.#judgeMore = judgeMore
    this.#records = new CsvRecords(name)
  }

  take(text: string, isLast: boolean): InputRow[] {
    const records = this.#records.take(text, isLast)
    const [first] = records
    if (!first) return []
    const isHeader = this.#columns === undefined
    this.#columns ??= readCsvHeader(first, this.#name, this.#kind)
    const rows: InputRow[] = []
    for (const record of isHeader ? records.slice(1) : records) rows.push(this.#read(record, this.#columns))
    return rows
  }

  #read(record: CsvRecord, { names, put }: CsvColumns): InputRow {
    const { line, raw, cells, broken } = record
    const index = this.#index++
    const csv = { names, cells }
    const faultAt = (offset: number, message: string): RowFault => ({
      ...placeAfter({ line, column: 1 }, raw.slice(0, offset)),
      message,
    })
    if (broken) {
      return { index, line, row: undefined, faults: [faultAt(broken.offset, broken.message)], raw, csv }
    }
    if (cells.length !== names.length) {
      const words = `${cells.length} fields, but the header has ${names.length}`
      // Where there are too many, the first of these.
      const offset = cells.length > names.length ? cellOffset(raw, names.length) : 0
      return { index, line, row: undefined, faults: [faultAt(offset, words)], raw, csv }
    }
    const row: UserRow = {}
    let faults: RowFault[] | undefined
    const say: SayFault = (path, message) => {
      const column = columnOf(path, names)
      faults ??= []
      faults.push(faultAt(column === undefined ? 0 : cellOffset(raw, column), message))
    }
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]
      if (cell) put[at]?.(row, cell, say)
    }
    judgeRow(row, this.#kind, true, say)
    this.#judgeMore?.(row, { index, line, isFaulty: faults !== undefined }, say)
    return { index, line, row, faults: inOrder(faults), raw, csv }
  }
}
