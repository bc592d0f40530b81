import { accessSync, constants, rmSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { DocumentFile } from '../../document-file.ts'
import { FailedRows } from '../failed-rows.ts'
import type { CheckedInput } from '../input/check-input.ts'
import type { Input } from '../input/input.ts'
import { readRows } from '../input/read-rows.ts'
import type { Journal } from '../journal/journal.ts'
import type { RowKind } from '../rows/user-row.ts'
import { formOfResults, ResultsWriter } from './results-file.ts'
import { type RowResult, type RowStatus, resultOf, rowStatuses, standingOf } from './row-result.ts'
import { PasswordsInOrder } from './stored-passwords.ts'

export interface Reporting {
  input: Input
  kind: RowKind
  checked: CheckedInput
  journal: Journal
  /** Path of the file of results. */
  results: string | undefined
  hasPasswords: boolean
  /** Is told of each row of which nobody knows what became of it, in the order of the input. */
  onUnknown(result: RowResult, canBeSettled: boolean): void
}

/** Counts of rows, all runs of the journal together. */
export interface Report {
  counts: Record<RowStatus, number>
  /** Of the skipped: what the same command would still send. */
  remaining: number
  /** Path of the file of failed rows, where there are any. */
  failedRows: string | undefined
}

/** Says of every row what became of it, and writes the files that say so. */
export async function reportRows(reporting: Reporting): Promise<Report> {
  const { input, kind, checked, journal, results, hasPasswords } = reporting
  const counts = Object.fromEntries(rowStatuses.map((status) => [status, 0])) as Report['counts']
  const path = failedRowsPath(input)
  const failed = new FailedRows(path, input.form)
  const writer = results === undefined ? undefined : openResults(results, hasPasswords)
  const passwords = results !== undefined && hasPasswords ? new PasswordsInOrder(results) : undefined
  let remaining = 0
  try {
    for await (const batch of readRows(input, kind)) {
      const written: (RowResult & { password?: string })[] = []
      for (const row of batch) {
        const { status, remains } = standingOf(row, checked.faulty, journal)
        counts[status]++
        if (status === 'skipped' && remains) remaining++
        const isTold = status === 'unknown' || status === 'failed'
        const result = writer || isTold ? resultOf(row, checked.faulty, journal) : undefined
        if (result && status === 'unknown') reporting.onUnknown(result, !remains)
        if (result && status === 'failed') failed.add(row, result.id === '' ? undefined : result.id)
        if (result && writer) {
          const password = await passwords?.at(row.line)
          written.push(password === undefined ? result : { ...result, password })
        }
      }
      await writer?.write(written)
    }
    await writer?.finish()
    await keepFailedRows(failed, path, journal)
  } catch (error) {
    failed.discard()
    throw error
  } finally {
    await passwords?.close()
  }
  return { counts, remaining, failedRows: failed.count > 0 ? path : undefined }
}

export function openResults(path: string, hasPasswords: boolean): ResultsWriter {
  return new ResultsWriter(new DocumentFile(path), { form: formOfResults(path), hasPasswords })
}

/**
 * `users.failed.csv` beside `users.csv`; in the folder in which one stands where that one is not
 * for writing, or for what came through a pipe.
 */
function failedRowsPath({ path, form }: Input): string {
  if (path === undefined) return join(process.cwd(), `stdin.failed.${form}`)
  const extension = extname(path)
  const name = `${basename(path, extension)}.failed${extension || `.${form}`}`
  return join(isWritable(dirname(path)) ? dirname(path) : process.cwd(), name)
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** One that an earlier run has left is removed where nothing has failed any more. */
async function keepFailedRows(failed: FailedRows, path: string, journal: Journal): Promise<void> {
  if (failed.count > 0) {
    await failed.finish()
    journal.noteFile('failed_rows', path)
    return
  }
  failed.discard()
  if (journal.fileOf('failed_rows') === path) rmSync(path, { force: true })
}
