import { checkRow, type ReportFault } from '../rows/check-row.ts'
import type { ImportedUser } from '../rows/imported-user.ts'
import { expandString } from '../rows/read-object.ts'
import { cellOffset, columnOf, readCsvHeader } from './csv-columns.ts'
import { type CsvRecord, CsvRecords } from './csv-records.ts'
import {
  type CsvColumns,
  type InputRow,
  placeAfter,
  type RowFault,
  type RowRules,
  sortFaults,
} from './input-row.ts'

/** Reads CSV with a header. An empty cell is an absent field. */
export async function* csvRows(
  chunks: AsyncIterable<string>,
  name: string,
  rules: RowRules,
): AsyncGenerator<InputRow[]> {
  const reader = new CsvRecords(name)
  let columns: CsvColumns | undefined
  let index = 0
  const read = (text: string, isLast: boolean): InputRow[] => {
    const records = reader.take(text, isLast)
    const header = columns ? undefined : records.shift()
    if (header) columns = readCsvHeader(header, name, rules.kind)
    const known = columns
    return known ? records.map((record) => readRow(index++, record, known, rules)) : []
  }
  for await (const chunk of chunks) yield read(chunk, false)
  yield read('', true)
}

function readRow(
  index: number,
  record: CsvRecord,
  columns: CsvColumns,
  { kind, extraCheck, env }: RowRules,
): InputRow {
  const { line, raw, cells, fault } = record
  const csv = { columns, cells }
  const { names, setters } = columns
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
