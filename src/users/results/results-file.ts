import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { csvRecords } from '../../bulk/input/csv-records.ts'
import { isUnresolved, type Journal, mayHaveChanged } from '../../bulk/journal/journal.ts'
import { Failure } from '../../contract/failure.ts'
import { tryParse } from '../../contract/notation/exact-json.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { DocumentFile, replaceDocument } from '../../system/files/document-file.ts'
import type { CheckedInput, CheckedRow, ValidRow } from '../rows/check-input.ts'
import type { RowWork } from '../send/send-row.ts'

export const rowStatuses = ['created', 'updated', 'failed', 'unknown', 'skipped'] as const
export type RowStatus = (typeof rowStatuses)[number]

type ResultsFormat = 'csv' | 'jsonl'

/** @throws Failure `usage` for another file extension */
export function formatOfResults(path: string): ResultsFormat {
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

/** Keeps other processes from writing a results file, because its passwords would be lost. @throws as both calls */
export function lockResults(path: string): () => void {
  formatOfResults(path)
  return new DocumentFile(path).lock()
}

/** Replaces a results file. @throws Failure `storage`; the file is unchanged then */
export async function writeResults(
  path: string,
  results: readonly WrittenResult[],
  hasPasswords: boolean,
): Promise<void> {
  const names = hasPasswords ? [...columns, 'password' as const] : columns
  if (formatOfResults(path) === 'csv') {
    const { stringify } = await import('csv-stringify/sync')
    const rows = results.map((result) => names.map((name) => result[name] ?? ''))
    return replaceDocument(path, stringify([[...names], ...rows]))
  }
  const lines = results.map((result) =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, result[name] ?? null]))),
  )
  await replaceDocument(path, lines.map((line) => `${line}\n`).join(''))
}

/**
 * The rows of an existing results file, which a spreadsheet may have saved in another notation.
 *
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
  const textOf = (value: unknown) => (typeof value === 'string' ? value : '')
  return rows.map(({ line, email, id, status, error, password }) => {
    if (email === undefined || status === undefined) throw notResults(path)
    return {
      line: typeof line === 'number' ? line : textOf(line),
      email: textOf(email),
      id: textOf(id),
      status: textOf(status) as RowStatus,
      error: textOf(error),
      password: textOf(password),
    }
  })
}

function readLines(text: string): Record<string, unknown>[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => Object(tryParse(line)))
}

function readCsv(path: string, text: string): Record<string, unknown>[] {
  const [header, ...records] = csvRecords(text, path)
  if (!header) return []
  const names = header.cells
  if (!names.includes('email') || !names.includes('status')) throw notResults(path)
  return records.map(({ cells }) => Object.fromEntries(names.map((name, at) => [name, cells[at]])))
}

function notResults(path: string): Failure {
  return new Failure('refused', `${path} exists and is not a results file, so it is not overwritten`, {
    advice: [{ code: 'other_results_file' }],
  })
}

/** @throws Failure `usage` for a file that cannot store passwords */
export function demandRegularResults(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found || found.isFile()) return
  throw new Failure('usage', `Cannot write the generated passwords to ${path}: not a regular file`)
}

/** The generated passwords of a results file, by email in lower case. @throws as `readResults` */
export function readPasswords(path: string): Map<string, string> {
  const passwords = new Map<string, string>()
  for (const { email, password } of readResults(path)) {
    if (password) passwords.set(email.toLowerCase(), password)
  }
  return passwords
}

/** The generated passwords of an import, by email in lower case. */
export interface GeneratedPasswords {
  passwords: Map<string, string>
  /** The number of users that were sent with a password that the results file no longer contains. */
  lost: number
}

/**
 * Reads the generated passwords of earlier runs from the results file, and prevents their loss.
 *
 * @returns undefined if no passwords are generated
 * @throws Failure `usage` if the file has passwords of another import, or if this import has others in another file;
 *   `storage`
 */
export function openPasswords(
  journal: Journal,
  { results, makePassword }: { results: string | undefined; makePassword: (() => string) | undefined },
  { valid }: CheckedInput,
): GeneratedPasswords | undefined {
  const own = journal.content.files.get('passwords')?.path
  const path = results === undefined ? undefined : resolve(results)
  if (own !== undefined && (path !== own || makePassword === undefined)) {
    throw new Failure(
      'usage',
      `The generated passwords of this import are in ${own}; it can be resumed only with that file`,
      { advice: [{ code: 'resume_with_passwords', path: own }] },
    )
  }
  if (path === undefined) return undefined
  if (makePassword) demandRegularResults(path)
  const kept = readPasswords(path)
  const lacking = makePassword ? valid.filter(lacksPassword) : []
  const passwords = new Map<string, string>()
  let lost = 0
  for (const row of lacking) {
    const email = emailOf(row)
    const password = kept.get(email)
    const state = journal.content.states.get(row.key)
    if (password !== undefined) passwords.set(email, password)
    else if (state?.isCreator && mayHaveChanged(state)) lost++
  }
  if (passwords.size < kept.size && own === undefined) {
    const words = `Cannot overwrite ${path}: it contains the generated passwords of another import`
    throw new Failure('usage', words, { advice: [{ code: 'move_results_file' }] })
  }
  if (passwords.size < kept.size && lost > 0) {
    throw new Failure('storage', `${path} was changed after chatctl wrote it`, {
      hint: 'The file contains the generated passwords of this import. Restore its earlier content.',
    })
  }
  return makePassword && { passwords, lost }
}

/** Generates the passwords that are missing for the users to create, and adds all to the rows. */
export function addPasswords(
  { passwords }: GeneratedPasswords,
  work: Iterable<RowWork>,
  { journal, makePassword }: { journal: Journal; makePassword(): string },
): void {
  for (const { checked, steps } of work) {
    if (steps[0] !== 'create' || !lacksPassword(checked)) continue
    const email = emailOf(checked)
    const state = journal.content.states.get(checked.key)
    // If the first create of this import took effect, the user has its password.
    const isSent = isUnresolved(state) && state?.isCreator
    if (!passwords.has(email) && !isSent) passwords.set(email, makePassword())
    checked.row.password = passwords.get(email)
  }
}

function lacksPassword({ row }: CheckedRow | ValidRow): boolean {
  return row !== undefined && row.id === undefined && row.password === undefined
}

function emailOf({ row }: ValidRow): string {
  return (row.email ?? '').toLowerCase()
}
