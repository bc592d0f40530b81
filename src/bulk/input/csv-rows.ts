import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import { joinLines } from '../../contract/notation/text.ts'
import { type CsvRecord, csvRecords } from './csv-records.ts'
import {
  type CsvColumns,
  type FieldPath,
  type InputRow,
  placeAfter,
  type ReportFault,
  type RowFault,
  type RowShape,
  sortFaults,
} from './input-row.ts'

/** Reads CSV with a header. */
export function* csvRows<R>(text: string, name: string, shape: RowShape<R>): Generator<InputRow<R>> {
  const records = csvRecords(text, name)
  const { value: header } = records.next()
  if (!header) return
  const columns = readCsvHeader(header, name, shape)
  let index = 0
  for (const record of records) yield readRow(index++, record, columns, shape)
}

function readRow<R>(
  index: number,
  record: CsvRecord,
  columns: CsvColumns<R>,
  shape: RowShape<R>,
): InputRow<R> {
  const { line, raw, cells, fault } = record
  const csv = { columns, cells }
  const { names } = columns
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
  let faults: RowFault[] | undefined
  const report: ReportFault = (path, message) => {
    const column = columnOf(path, names)
    faults ??= []
    faults.push(faultAt(column === undefined ? 0 : cellOffset(record, column), message))
  }
  const row = columns.read(cells, report)
  shape.check(row, { line, isComplete: true, isFaulty: () => faults !== undefined }, report)
  return { index, line, row, faults: sortFaults(faults), raw, csv }
}

/**
 * Reads the columns from the first record.
 *
 * @param name of the input, for errors
 * @throws Failure `refused` for an unknown, duplicate, or missing column, with its place
 */
function readCsvHeader<R>(record: CsvRecord, name: string, shape: RowShape<R>): CsvColumns<R> {
  const refuse = (words: string, offset: number, help: { hint?: string; advice?: Advice } = {}): Failure => {
    const { line, column } = placeAfter({ line: record.line, column: 1 }, record.raw.slice(0, offset))
    const message = joinLines([`${name}:${line}:${column}: ${words}`])
    return new Failure('refused', message, { hint: help.hint, advice: help.advice && [help.advice] })
  }
  if (record.fault) throw refuse(record.fault.message, record.fault.offset)
  const { cells: header, separator } = record
  const given = header.map((cell) => cell.trim())
  const columns = shape.readColumns(given, (words, index, help) =>
    refuse(words, cellOffset(record, index), help),
  )
  const { names } = columns
  const repeated = names.findIndex((name, index) => names.indexOf(name) < index)
  if (repeated !== -1) {
    throw refuse(`duplicate column "${given[repeated]}"`, cellOffset(record, repeated))
  }
  return { ...columns, header, separator }
}

/**
 * A warning about the columns that are recognized although their case differs; undefined if there are none.
 *
 * @param name of the input
 */
export function describeRespelled<R>(name: string, { header, names }: CsvColumns<R>): string | undefined {
  const words = header.flatMap((column, index) => {
    const given = column.trim()
    const field = names[index] ?? given
    return given.startsWith(field) ? [] : [`"${given}" as "${field}${/:=$/.exec(given)?.[0] ?? ''}"`]
  })
  if (words.length === 0) return undefined
  return joinLines([`${name}: some columns are in another case. chatctl reads ${words.join(', ')}`])
}

/** The offset of a cell in a valid record. */
function cellOffset({ raw, separator }: CsvRecord, index: number): number {
  let at = 0
  for (let passed = 0; passed < index; passed++) {
    let isQuoted = false
    while (at < raw.length && (isQuoted || raw.charAt(at) !== separator)) {
      if (raw.charAt(at) === '"') isQuoted = !isQuoted
      at++
    }
    at++
  }
  return Math.min(at, raw.length)
}

/** The index of the column of a field; undefined for the row itself. */
function columnOf(path: FieldPath, names: readonly string[]): number | undefined {
  const [field, key] = path
  const name = typeof key === 'string' ? `${field}.${key}` : field
  const index = names.indexOf(String(name))
  return index === -1 ? undefined : index
}
