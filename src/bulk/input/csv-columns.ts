import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { readSwitch, switchWords } from '../../contract/text-value.ts'
import type { FieldPath, SayFault } from '../rows/judge-row.ts'
import { fieldsOf, type RowKind, type UserRow } from '../rows/user-row.ts'
import type { CsvRecord } from './csv-records.ts'
import { placeAfter } from './input-row.ts'

/** Puts the text of a cell, which is not empty, into the row. */
type PutCell = (row: UserRow, cell: string, say: SayFault) => void

export interface CsvColumns {
  names: readonly string[]
  put: readonly PutCell[]
}

const puts: Readonly<Record<string, PutCell>> = {
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
    // One may stand at the end, too.
    row.permissions = cell
      .replace(/;\s*$/, '')
      .split(';')
      .map((permission) => permission.trim())
  },
  'settings.theme': (row, cell) => {
    row.settings = { ...row.settings, theme: cell }
  },
  'settings.notifications_enabled': (row, cell, say) => {
    const enabled = readSwitch(cell)
    if (enabled === undefined) {
      say(['settings', 'notifications_enabled'], `settings.notifications_enabled must be ${switchWords}`)
    }
    row.settings = { ...row.settings, notifications_enabled: enabled ?? false }
  },
}

const metadataPrefix = 'metadata.'

/**
 * What the first record says of the columns.
 * @param name of the input, for errors
 * @throws Failure `refused` for a column that is unknown or comes twice, with its place
 */
export function readCsvHeader(record: CsvRecord, name: string, kind: RowKind): CsvColumns {
  const refuse = (words: string, offset: number, hint?: string): Failure => {
    const { line, column } = placeAfter({ line: record.line, column: 1 }, record.raw.slice(0, offset))
    const message = `${name}:${line}:${column}: ${words}`
    return new Failure('refused', message, hint === undefined ? {} : { hint })
  }
  if (record.broken) throw refuse(record.broken.message, record.broken.offset)
  const known = columnsOf(kind)
  const names = record.cells
  const put = names.map((column, index) => {
    const offset = cellOffset(record.raw, index)
    if (names.indexOf(column) < index) throw refuse(`duplicate column "${column}"`, offset)
    const found = known.includes(column) ? puts[column] : kind === 'users' ? putMetadata(column) : undefined
    if (found) return found
    throw refuse(`unknown column "${column}"`, offset, hintOf(names, column, known))
  })
  if (!names.includes('id') && !(kind === 'users' && names.includes('email'))) {
    throw refuse(
      kind === 'users' ? 'missing column: email or id is required' : 'missing column: id is required',
      0,
    )
  }
  return { names, put }
}

function columnsOf(kind: RowKind): string[] {
  const settings = ['settings.theme', 'settings.notifications_enabled']
  const plain = fieldsOf(kind).filter((field) => field in puts)
  return kind === 'users' ? [...plain, ...settings] : plain
}

function putMetadata(column: string): PutCell | undefined {
  if (!column.startsWith(metadataPrefix)) return undefined
  const key = column.slice(metadataPrefix.length)
  // An assignment to it would change the object, not its keys.
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

/** Where the cell of a well-formed record begins. */
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

/** The cell that a field of a row comes from; undefined for the row as a whole. */
export function columnOf(path: FieldPath, names: readonly string[]): number | undefined {
  const [field, key] = path
  const name = typeof key === 'string' ? `${field}.${key}` : field
  const index = names.indexOf(String(name))
  return index === -1 ? undefined : index
}
