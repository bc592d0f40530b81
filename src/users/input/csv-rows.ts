import { checkRow, type ReportFault } from '../rows/check-row.ts'
import { expandString } from '../rows/expand-strings.ts'
import type { ImportedUser } from '../rows/imported-user.ts'
import { type CsvColumns, cellOffset, columnOf, readCsvHeader } from './csv-columns.ts'
import { type CsvRecord, CsvRecords } from './csv-records.ts'
import { type InputRow, type RowFault, type RowReader, sortFaults } from './input-row.ts'
import type { RowRules } from './object-row.ts'
import { placeAfter } from './row-place.ts'

/** Reads CSV with a header. An empty cell is an absent field. */
export class CsvRows implements RowReader {
  readonly #name: string
  readonly #rules: RowRules
  readonly #records: CsvRecords
  #columns: CsvColumns | undefined
  #index = 0

  constructor(name: string, rules: RowRules) {
    this.#name = name
    this.#rules = rules
    this.#records = new CsvRecords(name)
  }

  take(text: string, isLast: boolean): InputRow[] {
    const records = this.#records.take(text, isLast)
    const [first] = records
    if (!first) return []
    const isHeader = this.#columns === undefined
    this.#columns ??= readCsvHeader(first, this.#name, this.#rules.kind)
    const rows: InputRow[] = []
    for (const record of isHeader ? records.slice(1) : records) rows.push(this.#read(record, this.#columns))
    return rows
  }

  #read(record: CsvRecord, columns: CsvColumns): InputRow {
    const { line, raw, cells, fault } = record
    const index = this.#index++
    const csv = { columns, cells }
    const { names, setters } = columns
    const { kind, extraCheck, env } = this.#rules
    const faultAt = (offset: number, message: string): RowFault => ({
      ...placeAfter({ line, column: 1 }, raw.slice(0, offset)),
      message,
    })
    if (fault) {
      return { index, line, row: undefined, faults: [faultAt(fault.offset, fault.message)], raw, csv }
    }
    if (cells.length !== names.length) {
      const words = `${cells.length} fields, but the header has ${names.length}`
      // The place of the first surplus cell.
      const offset = cells.length > names.length ? cellOffset(record, names.length) : 0
      return { index, line, row: undefined, faults: [faultAt(offset, words)], raw, csv }
    }
    const row: ImportedUser = {}
    let faults: RowFault[] | undefined
    const report: ReportFault = (path, message) => {
      const column = columnOf(path, names)
      faults ??= []
      faults.push(faultAt(column === undefined ? 0 : cellOffset(record, column), message))
    }
    for (let at = 0; at < cells.length; at++) {
      const text = cells[at]
      const reportCell = (message: string): void => report([names[at] ?? at], message)
      const cell = text && env ? expandString(text, env, reportCell) : text
      if (cell) setters[at]?.(row, cell, report)
    }
    checkRow(row, kind, true, report)
    extraCheck?.(row, { index, line, isFaulty: faults !== undefined }, report)
    return { index, line, row, faults: sortFaults(faults), raw, csv }
  }
}
