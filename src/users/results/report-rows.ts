import type { Failure } from '../../contract/failure.ts'
import type { CheckedInput } from '../input/check-input.ts'
import type { Input } from '../input/input.ts'
import type { InputRow } from '../input/input-row.ts'
import { readRows } from '../input/read-rows.ts'
import type { Journal } from '../journal/journal.ts'
import type { RowKind } from '../rows/imported-user.ts'
import { formatRowPlace } from '../unknown-row-resolutions.ts'
import { FailedRows } from './failed-rows.ts'
import { type KnownRow, knownRow } from './known-row.ts'
import { openPasswords } from './password-reader.ts'
import { ResultRows } from './result-rows.ts'
import { finishRowList, type RowListName, rowListPath } from './row-list-file.ts'
import { progressOf, type RowResult, type RowStatus, resultOf, rowStatuses } from './row-result.ts'

export interface ReportOptions {
  input: Input
  kind: RowKind
  checked: CheckedInput
  journal: Journal
  /** Path of the results file. */
  results: string | undefined
  hasPasswords: boolean
  /**
   * Called with the first rows whose outcome is unknown, in the order of the input.
   *
   * @param unresolved undefined if the same command sends the rest of the row
   */
  onUnknown(result: RowResult, unresolved: UnresolvedRow | undefined): void
  /** Called with the first failed rows, in the order of the input. */
  onFailed(result: RowResult): void
  /** Called with each valid row for which something was sent. */
  onRow: ((row: KnownRow) => void) | undefined
  warn(text: string): Promise<void>
}

/** A row that the user must resolve. */
export interface UnresolvedRow {
  /** As `--line` takes it. */
  place: string
  /** False if the user was certainly created. */
  mayRetry: boolean
}

/** Counts of rows. */
export interface Report {
  /** Numbers of rows by status, without those that earlier runs have created or updated. */
  counts: Record<RowStatus, number>
  /** Rows that earlier runs have created or updated. This run has sent no request for them. */
  alreadyDone: number
  /** Skipped rows with faults. */
  invalid: number
  /** Skipped rows that the same command would send. */
  remaining: number
  /** Whether nothing remains to be sent and no outcome is unknown. */
  isFinished: boolean
  /** Path of the file of rows that failed or have faults, if any. */
  failedRows: string | undefined
  /** Path of the file of unknown rows, if `onUnknown` was not called for all of them. */
  unknownRows: string | undefined
  /** Why the results file does not have the results. */
  resultsFailure: Failure | undefined
}

/** Maximum number of calls of `onUnknown`, for each of the two kinds, and of `onFailed`. */
const maxListedRows = 10

/** Determines the result of every row, and writes the results file and the files of failed and unknown rows. */
export async function reportRows(reporting: ReportOptions): Promise<Report> {
  const { input, kind, journal, results, hasPasswords, warn } = reporting
  const passwords = results !== undefined && hasPasswords ? openPasswords(journal, results) : undefined
  const file = results === undefined ? undefined : new ResultRows(results, passwords)
  const counting = new ReportCount(reporting)
  try {
    for await (const batch of readRows(input, kind)) {
      for (const row of batch) {
        const result = await counting.take(row, file !== undefined)
        if (result) await file?.add(row, result)
      }
    }
    await file?.finish()
    return { ...(await counting.finish(warn)), resultsFailure: file?.failure }
  } catch (error) {
    await counting.discard()
    await file?.discard()
    throw error
  }
}

/** Counts the rows by status, and lists those that need attention. */
class ReportCount {
  readonly #reporting: ReportOptions
  readonly #counts = Object.fromEntries(rowStatuses.map((status) => [status, 0])) as Report['counts']
  readonly #paths: Record<RowListName, string>
  readonly #failed: FailedRows
  readonly #unknown: ResultRows
  /** Numbers of unknown rows that the user must resolve, and of those that the same command sends again. */
  readonly #listed = { unresolved: 0, resent: 0 }
  #alreadyDone = 0
  #invalid = 0
  #remaining = 0
  #isFinished = true

  constructor(reporting: ReportOptions) {
    const { input, journal } = reporting
    this.#reporting = reporting
    this.#paths = {
      failed: rowListPath('failed', input, journal),
      unknown: rowListPath('unknown', input, journal),
    }
    this.#failed = new FailedRows(this.#paths.failed, input.format)
    this.#unknown = new ResultRows(this.#paths.unknown)
  }

  /** @param isWanted whether every row needs a result */
  async take(row: InputRow, isWanted: boolean): Promise<RowResult | undefined> {
    const { checked, journal, onRow } = this.#reporting
    const progress = progressOf(row, checked.faulty, journal)
    const { status, remains } = progress
    const isInvalid = checked.faulty.has(row.index)
    const known = isInvalid || !onRow ? undefined : knownRow(row, journal)
    if (known) onRow?.(known)
    if (status === 'unknown' || (status === 'skipped' && remains)) this.#isFinished = false
    if (status === 'skipped' && remains) this.#remaining++
    if (isInvalid) this.#invalid++
    const isDone = status === 'created' || status === 'updated'
    if (isDone && !journal.wasRequested(row.index)) this.#alreadyDone++
    else this.#counts[status]++
    const isListed = isInvalid || status === 'unknown' || status === 'failed'
    if (!isListed && !isWanted) return undefined
    const result = resultOf(row, checked.faulty, journal, progress)
    if (status === 'unknown') await this.#takeUnknown(row, result, remains)
    if (status === 'failed' && this.#counts.failed <= maxListedRows) this.#reporting.onFailed(result)
    if (status === 'failed' || isInvalid)
      await this.#failed.add(row, isInvalid ? undefined : result.id || undefined)
    return result
  }

  async finish(warn: ReportOptions['warn']): Promise<Omit<Report, 'resultsFailure'>> {
    const { journal } = this.#reporting
    await finishRowList('failed', this.#failed, this.#paths.failed, journal)
    await finishRowList('unknown', this.#unknown, this.#paths.unknown, journal)
    const [failed, unknown] = [this.#failed.failure, this.#unknown.failure]
    if (failed) await warn(`Cannot write the file of failed rows: ${failed.message}`)
    if (unknown) await warn(`Cannot write the file of unknown rows: ${unknown.message}`)
    return {
      counts: this.#counts,
      alreadyDone: this.#alreadyDone,
      invalid: this.#invalid,
      remaining: this.#remaining,
      isFinished: this.#isFinished,
      failedRows: this.#failed.isNeeded && !failed ? this.#paths.failed : undefined,
      unknownRows: this.#unknown.isNeeded && !unknown ? this.#paths.unknown : undefined,
    }
  }

  async discard(): Promise<void> {
    await this.#failed.discard()
    await this.#unknown.discard()
  }

  async #takeUnknown(row: InputRow, result: RowResult, remains: boolean): Promise<void> {
    const { journal, onUnknown } = this.#reporting
    const isListed = this.#listed[remains ? 'resent' : 'unresolved']++ < maxListedRows
    if (isListed) onUnknown(result, remains ? undefined : unresolvedRow(row, journal))
    this.#unknown.isNeeded ||= !isListed
    await this.#unknown.add(row, { ...result, line: formatRowPlace(row) })
  }
}

function unresolvedRow(row: InputRow, journal: Journal): UnresolvedRow {
  return { place: formatRowPlace(row), mayRetry: journal.rows.of(row.index)?.phase !== 'nameless' }
}
