import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { booleanWords, parseBoolean } from '../../contract/notation/text-value.ts'
import { checkRow, type FieldPath, type ReportFault } from '../rows/check-row.ts'
import { exclusionOf, fieldsOf, type ImportedUser, type RowKind } from '../rows/imported-user.ts'
import { checkMetadata, expandString } from '../rows/read-object.ts'
import { type CsvRecord, csvRecords } from './csv-records.ts'
import {
  type CsvColumns,
  type InputRow,
  placeAfter,
  type RespelledColumn,
  type RowFault,
  type RowRules,
  type SetCell,
  sortFaults,
} from './input-row.ts'
import { plainValue, readStrictJson } from './object-rows.ts'

/** Reads CSV with a header. An empty cell is an absent field. */
export function* csvRows(text: string, name: string, rules: RowRules): Generator<InputRow> {
  const records = csvRecords(text, name)
  const { value: header } = records.next()
  if (!header) return
  const columns = readCsvHeader(header, name, rules.kind)
  let index = 0
  for (const record of records) yield readRow(index++, record, columns, rules)
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

/** For values to which the spaces around them do not belong. */
const trimmed =
  (field: 'id' | 'email' | 'role'): SetCell =>
  (row, cell) => {
    const value = cell.trim()
    if (value !== '') row[field] = value
  }

const settersByColumn: Readonly<Record<string, SetCell>> = {
  id: trimmed('id'),
  email: trimmed('email'),
  name: (row, cell) => {
    row.name = cell
  },
  password: (row, cell) => {
    row.password = cell
  },
  role: trimmed('role'),
  permissions: (row, cell) => {
    // A trailing separator is allowed.
    row.permissions = cell
      .replace(/;\s*$/, '')
      .split(';')
      .map((permission) => permission.trim())
  },
  'settings.theme': (row, cell) => {
    row.settings = { ...row.settings, theme: cell }
  },
  'settings.notifications_enabled': (row, cell, report) => {
    const enabled = parseBoolean(cell)
    if (enabled === undefined) {
      report(['settings', 'notifications_enabled'], `settings.notifications_enabled must be ${booleanWords}`)
    }
    row.settings = { ...row.settings, notifications_enabled: enabled ?? false }
  },
}

const metadataPrefix = 'metadata.'

/** The end of the name of a column with JSON, as in `--metadata KEY:=JSON`. */
const jsonSuffix = ':='

/**
 * Reads the columns from the first record.
 *
 * @param name of the input, for errors
 * @throws Failure `refused` for an unknown or duplicate column, with its place
 */
function readCsvHeader(record: CsvRecord, name: string, kind: RowKind): CsvColumns {
  const refuse = (words: string, offset: number, help: { hint?: string; advice?: Advice } = {}): Failure => {
    const { line, column } = placeAfter({ line: record.line, column: 1 }, record.raw.slice(0, offset))
    const message = `${name}:${line}:${column}: ${words}`
    return new Failure('refused', message, { hint: help.hint, advice: help.advice && [help.advice] })
  }
  if (record.fault) throw refuse(record.fault.message, record.fault.offset)
  const known = columnsOf(kind)
  const header = record.cells
  const given = header.map((cell) => cell.trim())
  const columns = given.map((column, index) => {
    const found = findColumn(column, known, kind)
    if (found) return found
    const offset = cellOffset(record, index)
    const exclusion = exclusionOf(column.toLowerCase(), kind)
    if (exclusion) throw refuse(exclusion.message, offset, exclusion)
    throw refuse(`unknown column "${column}"`, offset, { hint: hintOf(column, known) })
  })
  const names = columns.map(({ name }) => name)
  const repeated = names.findIndex((name, index) => names.indexOf(name) < index)
  if (repeated !== -1) {
    throw refuse(`duplicate column "${given[repeated]}"`, cellOffset(record, repeated))
  }
  const required = requiredColumns[kind]
  if (!required.some((column) => names.includes(column))) {
    throw refuse(`missing column: ${required.join(' or ')} is required`, 0)
  }
  const respelled = given.flatMap((column, index) => {
    const field = names[index] ?? column
    if (column.startsWith(field)) return []
    return [{ given: column, field: column.endsWith(jsonSuffix) ? field + jsonSuffix : field }]
  })
  return { header, names, respelled, separator: record.separator, setters: columns.map(({ set }) => set) }
}

/** @param name of the input */
export function describeRespelled(name: string, columns: readonly RespelledColumn[]): string {
  const words = columns.map(({ given, field }) => `"${given}" as "${field}"`)
  return `${name}: some columns are in another case. chatctl reads ${words.join(', ')}`
}

interface Column {
  name: string
  set: SetCell
}

/** @param column without spaces around it */
function findColumn(column: string, known: readonly string[], kind: RowKind): Column | undefined {
  const lower = column.toLowerCase()
  const set = known.includes(lower) ? settersByColumn[lower] : undefined
  if (set) return { name: lower, set }
  if (kind === 'assignments' || !lower.startsWith(metadataPrefix)) return undefined
  const isJson = column.endsWith(jsonSuffix)
  const key = column.slice(metadataPrefix.length, isJson ? -jsonSuffix.length : undefined).trimEnd()
  // Assigning to __proto__ would change the prototype.
  if (key === '' || key === '__proto__') return undefined
  return { name: metadataPrefix + key, set: isJson ? jsonSetter(key) : textSetter(key) }
}

/** One of these columns is required. */
const requiredColumns: Readonly<Record<RowKind, readonly string[]>> = {
  users: ['email', 'id'],
  assignments: ['id'],
  'managed users': ['email'],
}

function columnsOf(kind: RowKind): string[] {
  const settings = ['settings.theme', 'settings.notifications_enabled']
  const plain = fieldsOf(kind).filter((field) => field in settersByColumn)
  return kind !== 'assignments' ? [...plain, ...settings] : plain
}

function textSetter(key: string): SetCell {
  return (row, cell) => {
    row.metadata ??= {}
    row.metadata[key] = cell
  }
}

function jsonSetter(key: string): SetCell {
  const path = ['metadata', key]
  return (row, cell, report) => {
    if (cell.trim() === '') return
    const read = readStrictJson(cell)
    if ('fault' in read) {
      const { message } = read.fault
      const isText = !/^\s*[[{]/.test(cell)
      report(path, isText ? `${message}; for text, name the column "${metadataPrefix}${key}"` : message)
      return
    }
    const value = plainValue(read.root)
    if (!checkMetadata(value, path, report)) return
    row.metadata ??= {}
    row.metadata[key] = value
  }
}

function hintOf(column: string, known: readonly string[]): string {
  const meant = nearest(column.toLowerCase(), known)
  if (meant !== undefined) return `Did you mean "${meant}"?`
  return `Known columns: ${known.join(', ')}${known.includes('email') ? ', metadata.<key>, and metadata.<key>:= for JSON' : ''}.`
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
