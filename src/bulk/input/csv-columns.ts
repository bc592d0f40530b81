import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { booleanWords, parseBoolean } from '../../contract/text-value.ts'
import type { FieldPath, ReportFault } from '../rows/check-row.ts'
import { exclusionOf, fieldsOf, type ImportedUser, type RowKind } from '../rows/imported-user.ts'
import type { CsvRecord } from './csv-records.ts'
import { placeAfter } from './input-row.ts'

/** Sets a field of the row to the text of a cell, which is not empty. */
type SetCell = (row: ImportedUser, cell: string, report: ReportFault) => void

export interface CsvColumns {
  names: readonly string[]
  setters: readonly SetCell[]
}

const settersByColumn: Readonly<Record<string, SetCell>> = {
  id: (row, cell) => {
    row.id = cell
  },
  email: (row, cell) => {
    row.email = cell
  },
  name: (row, cell) => {
    row.name = cell
  },
  password: (row, cell) => {
    row.password = cell
  },
  role: (row, cell) => {
    row.role = cell
  },
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

/**
 * Reads the columns from the first record.
 *
 * @param name of the input, for errors
 * @throws Failure `refused` for an unknown or duplicate column, with its place
 */
export function readCsvHeader(record: CsvRecord, name: string, kind: RowKind): CsvColumns {
  const refuse = (words: string, offset: number, help: { hint?: string; advice?: Advice } = {}): Failure => {
    const { line, column } = placeAfter({ line: record.line, column: 1 }, record.raw.slice(0, offset))
    const message = `${name}:${line}:${column}: ${words}`
    return new Failure('refused', message, { hint: help.hint, advice: help.advice && [help.advice] })
  }
  if (record.fault) throw refuse(record.fault.message, record.fault.offset)
  const known = columnsOf(kind)
  const names = record.cells
  const setters = names.map((column, index) => {
    const offset = cellOffset(record.raw, index)
    if (names.indexOf(column) < index) throw refuse(`duplicate column "${column}"`, offset)
    const found = known.includes(column)
      ? settersByColumn[column]
      : kind !== 'assignments'
        ? metadataSetter(column)
        : undefined
    if (found) return found
    const exclusion = exclusionOf(column, kind)
    if (exclusion) throw refuse(exclusion.message, offset, exclusion)
    throw refuse(`unknown column "${column}"`, offset, { hint: hintOf(names, column, known) })
  })
  const required = requiredColumns[kind]
  if (!required.some((column) => names.includes(column))) {
    throw refuse(`missing column: ${required.join(' or ')} is required`, 0)
  }
  return { names, setters }
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

function metadataSetter(column: string): SetCell | undefined {
  if (!column.startsWith(metadataPrefix)) return undefined
  const key = column.slice(metadataPrefix.length)
  // Assigning to __proto__ would change the prototype.
  if (key === '' || key === '__proto__') return undefined
  return (row, cell) => {
    row.metadata ??= {}
    row.metadata[key] = cell
  }
}

function hintOf(names: readonly string[], column: string, known: readonly string[]): string {
  const [separator] = /[;\t]/.exec(names.join()) ?? []
  if (names.length === 1 && separator) {
    return `The columns seem to be separated by ${separator === ';' ? 'semicolons' : 'tabs'}. Separate them by commas.`
  }
  const meant = nearest(column, known)
  if (meant !== undefined) return `Did you mean "${meant}"?`
  return `Known columns: ${known.join(', ')}${known.includes('email') ? ', and metadata.<key>' : ''}.`
}

/** The offset of a cell in a valid record. */
export function cellOffset(raw: string, index: number): number {
  let at = 0
  for (let passed = 0; passed < index; passed++) {
    let isQuoted = false
    while (at < raw.length && (isQuoted || raw.charAt(at) !== ',')) {
      if (raw.charAt(at) === '"') isQuoted = !isQuoted
      at++
    }
    at++
  }
  return Math.min(at, raw.length)
}

/** The index of the column of a field; undefined for the row itself. */
export function columnOf(path: FieldPath, names: readonly string[]): number | undefined {
  const [field, key] = path
  const name = typeof key === 'string' ? `${field}.${key}` : field
  const index = names.indexOf(String(name))
  return index === -1 ? undefined : index
}
