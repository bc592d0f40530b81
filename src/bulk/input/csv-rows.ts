import { placesIn } from '../../contract/notation/located.ts'
import { joinLines } from '../../contract/notation/text.ts'
import { type CsvRecord, csvRecords } from './csv-records.ts'
import {
  type CsvColumns,
  failAt,
  type InputRow,
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
  const placeOf = placesIn(raw, line)
  const faultAt = (offset: number, message: string): RowFault => ({ ...placeOf(offset), message })
  if (fault) {
    return { index, line, row: undefined, faults: [faultAt(fault.offset, fault.message)], raw, csv }
  }
  if (cells.length !== names.length) {
    const words = `${cells.length} fields, but the header has ${names.length}`
    // The place of the first surplus cell.
    const offset = cells.length > names.length ? cellOffsets(record)[names.length] : 0
    return { index, line, row: undefined, faults: [faultAt(offset ?? 0, words)], raw, csv }
  }
  let faults: RowFault[] | undefined
  let offsets: ReadonlyMap<string, number> | undefined
  const report: ReportFault = ([field, key], message) => {
    offsets ??= new Map(cellOffsets(record).map((offset, at) => [names[at] ?? '', offset]))
    const name = typeof key === 'string' ? `${field}.${key}` : String(field)
    faults ??= []
    faults.push(faultAt(offsets.get(name) ?? 0, message))
  }
  const row = columns.read(cells, report)
  shape.check(row, { line, isComplete: true, isFaulty: () => faults !== undefined }, report)
  return { index, line, row, faults: sortFaults(faults), raw, csv }
}

/**
 * Reads the columns from the first record.
 * @param name of the input, for errors
 * @throws Failure `refused` for an unknown, duplicate, or missing column, with its place
 */
function readCsvHeader<R>(record: CsvRecord, name: string, shape: RowShape<R>): CsvColumns<R> {
  const placeOf = placesIn(record.raw, record.line)
  const refuse = (words: string, offset = 0, hint?: string) => failAt(name, placeOf(offset), words, hint)
  if (record.fault) throw refuse(record.fault.message, record.fault.offset)
  const { cells: header, separator } = record
  const given = header.map((cell) => cell.trim())
  const offsets = cellOffsets(record)
  const columns = shape.readColumns(given, (words, index, hint) => refuse(words, offsets[index], hint))
  const { names } = columns
  const seen = new Set<string>()
  for (const [index, name] of names.entries()) {
    if (seen.has(name)) throw refuse(`duplicate column "${given[index]}"`, offsets[index])
    seen.add(name)
  }
  return { ...columns, header, separator }
}

/**
 * A warning about the columns that are recognized although their case differs; undefined if there are none.
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

/** The offsets of the cells in a valid record. */
function cellOffsets({ raw, separator }: CsvRecord): number[] {
  const offsets = [0]
  let isQuoted = false
  for (let at = 0; at < raw.length; at++) {
    const character = raw.charAt(at)
    if (character === '"') isQuoted = !isQuoted
    else if (character === separator && !isQuoted) offsets.push(at + 1)
  }
  return offsets
}
