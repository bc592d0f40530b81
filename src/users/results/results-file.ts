import { readFileSync, statSync } from 'node:fs'
import { csvRecords } from '../../bulk/input/csv-records.ts'
import { Failure } from '../../contract/failure.ts'
import { tryParse } from '../../contract/notation/exact-json.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { DocumentFile, replaceDocument } from '../../system/files/document-file.ts'

export const rowStatuses = ['created', 'updated', 'failed', 'unknown', 'skipped'] as const
export type RowStatus = (typeof rowStatuses)[number]

type ResultsFormat = 'csv' | 'jsonl'

/** @throws Failure `usage` for another file extension */
function formatOfResults(path: string): ResultsFormat {
  if (/\.csv$/i.test(path)) return 'csv'
  if (/\.(jsonl|ndjson)$/i.test(path)) return 'jsonl'
  throw new Failure('usage', `Unknown file extension of the results file ${path}`, {
    hint: 'Use the file extension .csv or .jsonl.',
  })
}

/** A row of a results file. */
export interface WrittenResult {
  /** Includes the column if rows share a line. */
  line: number | string
  email: string
  id: string
  status: RowStatus
  error: string
  /** Generated. */
  password?: string
}

const columns = ['line', 'email', 'id', 'status', 'error'] as const
const passwordColumns = [...columns, 'password'] as const

/**
 * @param hasPasswords whether passwords are generated
 * @throws Failure `usage` for another file extension, or for a file that cannot store passwords; `storage` if it is
 *   known to be not writable
 */
export function checkedResults(path: string, hasPasswords: boolean): DocumentFile {
  formatOfResults(path)
  const file = new DocumentFile(path)
  if (hasPasswords && statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new Failure('usage', `Cannot write the generated passwords to ${path}: not a regular file`)
  return file
}

/** Replaces a results file. @throws Failure `storage`; the file is unchanged then */
export async function writeResults(
  path: string,
  results: readonly WrittenResult[],
  hasPasswords: boolean,
): Promise<void> {
  const names = hasPasswords ? passwordColumns : columns
  if (formatOfResults(path) === 'csv') {
    const { stringify } = await import('csv-stringify/sync')
    const rows = results.map((result) => names.map((name) => result[name] ?? ''))
    return replaceDocument(path, stringify([[...names], ...rows]))
  }
  await replaceDocument(path, results.map((result) => `${jsonLine(result, names)}\n`).join(''))
}

/**
 * A line for the end of a results file with passwords. Each cell has quotes, so that the password of a line that a
 * kill has left incomplete is not read as a shorter one.
 */
export function appendedResult(path: string, result: WrittenResult): string {
  if (formatOfResults(path) === 'jsonl') return jsonLine(result, passwordColumns)
  const cells = passwordColumns.map((name) => `${result[name] ?? ''}`.replaceAll('"', '""'))
  return cells.map((cell) => `"${cell.replace(/[\r\n]+/g, ' ')}"`).join()
}

function jsonLine(result: WrittenResult, names: readonly (keyof WrittenResult)[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, result[name] ?? null])))
}

/**
 * The rows of an existing results file, which a spreadsheet may have saved in another notation. An incomplete last line
 * is none of them: it was not on disk before its create was sent.
 * @returns none for a device or a pipe: it stores nothing, and reading it may never end
 * @throws Failure `refused` if the file is not a results file; `storage`
 */
export function readResults(path: string): WrittenResult[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found?.isFile()) return []
  let rows: Record<string, unknown>[]
  try {
    const text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
    rows = formatOfResults(path) === 'jsonl' ? readLines(text) : readCsv(path, text)
  } catch (cause) {
    throw systemFailure(`Cannot read ${path}`, cause)
  }
  const isRow = ({ email, status }: (typeof rows)[number]) => email !== undefined && status !== undefined
  if (!rows.every(isRow)) throw notResults(path)
  const stringOf = (value: unknown) => (typeof value === 'string' ? value : '')
  return rows.map(({ line, email, id, status, error, password }) => ({
    line: typeof line === 'number' ? line : stringOf(line),
    email: stringOf(email),
    id: stringOf(id),
    status: stringOf(status) as RowStatus,
    error: stringOf(error),
    password: stringOf(password),
  }))
}

function readLines(text: string): Record<string, unknown>[] {
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  const isTorn = last !== '' && '{"line":'.startsWith(last.slice(0, 8)) && tryParse(last) === undefined
  if (!isTorn) lines.push(last)
  return lines.filter((line) => line !== '').map((line) => Object(tryParse(line)))
}

function readCsv(path: string, text: string): Record<string, unknown>[] {
  const [header, ...records] = csvRecords(text, path)
  if (!header) return []
  const names = header.cells
  if (!names.includes('email') || !names.includes('status')) throw notResults(path)
  // The cells of a line with an unclosed quote are not known.
  if ((records.at(-1)?.cells.length ?? names.length) <= names.indexOf('status')) records.pop()
  return records.map(({ cells }) => Object.fromEntries(names.map((name, at) => [name, cells[at]])))
}

function notResults(path: string): Failure {
  return new Failure('refused', `${path} exists and is not a results file, so it is not overwritten`, {
    hint: 'Choose another file with --results.',
  })
}
