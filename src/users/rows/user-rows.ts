import type { ColumnReader, RefuseColumn, ReportFault, RowShape } from '../../bulk/input/input-row.ts'
import { readStrictJson } from '../../bulk/input/object-rows.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { plainValue } from '../../contract/notation/located.ts'
import { booleanWords, parseBoolean } from '../../contract/notation/text-value.ts'
import { checkOutcome, checkRow } from './check-row.ts'
import { exclusionOf, fieldsOf, type ImportedUser, isIgnored, type RowKind } from './imported-user.ts'
import { checkMetadata, expandString, expandStrings, type RowReading, readObject } from './read-object.ts'

/** @param env for `${NAME}` references in strings (default: references are not expanded) */
export function userRows(
  kind: RowKind,
  env?: NodeJS.ProcessEnv,
): RowShape<ImportedUser> & Pick<RowReading, 'ignored'> {
  const ignored = new Set<string>()
  return {
    ignored,
    noun: kind,
    listKey: 'users',
    // A failed row of a file of managed users is not written again.
    keepsText: kind !== 'managed users',
    hasIds: true,
    readColumns: (given, refuse) => readColumns(given, { kind, ignored }, env, refuse),
    readObject: (located, report) => {
      const value = plainValue(located)
      return readObject(env ? expandStrings(value, env, report) : value, { kind, report, ignored })
    },
    check: (row, { isComplete }, report) => checkRow(row, kind, isComplete, report),
  }
}

/** Sets a field of the row to the text of a cell, which is not empty. */
type SetCell = (row: ImportedUser, cell: string, report: ReportFault, ignored: Set<string>) => void

/** For values to which the spaces around them do not belong. */
const trimmed =
  (field: 'id' | 'email' | 'role'): SetCell =>
  (row, cell) => {
    const value = cell.trim()
    if (value !== '') row[field] = value
  }

/** For an object as users get prints it. A column of one of its keys takes precedence. */
function objectSetter(field: 'metadata' | 'settings'): SetCell {
  return (row, cell, reportAt, ignored) => {
    // The column has one place for all keys.
    const report: ReportFault = (_, message) => reportAt([field], message)
    const json = readStrictJson(cell.trim() || 'null')
    if ('fault' in json) return report([], json.fault.message)
    const read = readObject({ [field]: plainValue(json.root) }, { kind: 'users', report, ignored })
    if (read?.[field]) row[field] = { ...read[field], ...row[field] }
  }
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
  metadata: objectSetter('metadata'),
  settings: objectSetter('settings'),
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

function readColumns(
  given: readonly string[],
  { kind, ignored }: Omit<RowReading, 'report'>,
  env: NodeJS.ProcessEnv | undefined,
  refuse: RefuseColumn,
): ColumnReader<ImportedUser> {
  const all = given.map((column) => column.toLowerCase())
  const [isPrinted, outcomeAt] = [all.includes('created_at'), all.indexOf('outcome')]
  const known = columnsOf(kind)
  const columns = given.map((column, index) => {
    const found = findColumn(column, known, kind)
    if (found) return found
    if (isIgnored(column.toLowerCase(), isPrinted, known)) {
      ignored.add(column)
      return { name: column, set: () => {} }
    }
    const exclusion = exclusionOf(column.toLowerCase(), kind)
    if (exclusion) throw refuse(exclusion.message, index, exclusion.hint)
    throw refuse(`unknown column "${column}"`, index, hintOf(column, known))
  })
  const names = columns.map(({ name }) => name)
  const required = requiredColumns[kind]
  if (!required.some((column) => names.includes(column)))
    throw refuse(`missing column: ${required.join(' or ')} is required`, 0)
  const read = (cells: readonly string[], report: ReportFault): ImportedUser => {
    const row: ImportedUser = {}
    for (const [at, { name, set }] of columns.entries()) {
      const text = cells[at]
      const reportCell = (message: string): void => report([name], message)
      const cell = text && env ? expandString(text, env, reportCell) : text
      if (cell) set(row, cell, report, ignored)
    }
    checkOutcome(row, cells[outcomeAt], report)
    return row
  }
  return { names, read }
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
