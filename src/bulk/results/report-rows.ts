import { DocumentFile } from '../../document-file.ts'
import type { CheckedInput } from '../input/check-input.ts'
import type { Input } from '../input/input.ts'
import type { InputRow } from '../input/input-row.ts'
import { readRows } from '../input/read-rows.ts'
import type { Journal } from '../journal/journal.ts'
import type { RowKind } from '../rows/user-row.ts'
import { describePlace } from '../settling.ts'
import { FailedRows } from './failed-rows.ts'
import { failedRowsPath, keepFailedRows } from './failed-rows-place.ts'
import { formOfResults, ResultsWriter, type WrittenResult } from './results-file.ts'
import { type RowResult, type RowStatus, resultOf, rowStatuses, standingOf } from './row-result.ts'
import { openPasswords } from './stored-passwords.ts'

export interface Reporting {
  input: Input
  kind: RowKind
  checked: CheckedInput
  journal: Journal
  /** Path of the file of results. */
  results: string | undefined
  hasPasswords: boolean
  /**
   * Is told of each row of which nobody knows what became of it, in the order of the input.
   * @param settling undefined where the same command sends what is missing
   */
  onUnknown(result: RowResult, settling: Unsettled | undefined): void
  /** Is told of each row that was refused, in the order of the input. */
  onFailed(result: RowResult): void
  warn(text: string): Promise<void>
}

/** A row that waits for somebody to say what became of its user. */
export interface Unsettled {
  /** As `--line` takes it. */
  place: string
  /** Whether it may not be there: it may be sent again. */
  mayRetry: boolean
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
  const path = failedRowsPath(input, journal)
  const failed = new FailedRows(path, input.form)
  const writer = results === undefined ? undefined : openResults(results, hasPasswords)
  const passwords = results !== undefined && hasPasswords ? openPasswords(journal, results) : undefined
  let remaining = 0
  try {
    for await (const batch of readRows(input, kind)) {
      const written: WrittenResult[] = []
      for (const row of batch) {
        const standing = standingOf(row, checked.faulty, journal)
        const { status, remains } = standing
        counts[status]++
        if (status === 'skipped' && remains) remaining++
        const isTold = status === 'unknown' || status === 'failed'
        const result = writer || isTold ? resultOf(row, checked.faulty, journal, standing) : undefined
        if (result && status === 'unknown')
          reporting.onUnknown(result, remains ? undefined : unsettled(row, journal))
        if (result && status === 'failed') {
          reporting.onFailed(result)
          await failed.add(row, result.id === '' ? undefined : result.id)
        }
        if (result && writer) {
          const password = await passwords?.of(row)
          written.push(password === undefined ? result : { ...result, password })
        }
      }
      await writer?.write(written)
    }
    await passwords?.end()
    await writer?.finish()
    await keepFailedRows(failed, path, journal)
  } catch (error) {
    await failed.discard()
    await writer?.discard()
    throw error
  } finally {
    await passwords?.close()
  }
  const { trouble } = failed
  if (trouble) await reporting.warn(`${trouble.message}: there is no file of the rows that failed`)
  return { counts, remaining, failedRows: failed.count > 0 && !trouble ? path : undefined }
}

function unsettled(row: InputRow, journal: Journal): Unsettled {
  return { place: describePlace(row), mayRetry: journal.rows.of(row.index)?.phase !== 'nameless' }
}

export function openResults(path: string, hasPasswords: boolean): ResultsWriter {
  return new ResultsWriter(new DocumentFile(path), { form: formOfResults(path), hasPasswords })
}
