import { DocumentFile } from '../../system/document-file.ts'
import type { CheckedInput } from '../input/check-input.ts'
import type { Input } from '../input/input.ts'
import type { InputRow } from '../input/input-row.ts'
import { readRows } from '../input/read-rows.ts'
import type { Journal } from '../journal/journal.ts'
import type { RowKind } from '../rows/user-row.ts'
import { describePlace } from '../unknown-row-decisions.ts'
import { FailedRows } from './failed-rows.ts'
import { formatOfResults, ResultsWriter, type WrittenResult } from './results-file.ts'
import { keepRowList, type RowListName, rowListPath } from './row-list-file.ts'
import { type RowResult, type RowStatus, resultOf, rowStatuses, standingOf } from './row-result.ts'
import { openPasswords } from './stored-passwords.ts'
import { UnknownRows } from './unknown-rows.ts'

export interface Reporting {
  input: Input
  kind: RowKind
  checked: CheckedInput
  journal: Journal
  /** Path of the file of results. */
  results: string | undefined
  hasPasswords: boolean
  /**
   * Is told of the first rows whose outcome is unknown, in the order of the input.
   * @param decisions undefined where the same command sends what is missing
   */
  onUnknown(result: RowResult, decisions: Unsettled | undefined): void
  /** Is told of the first rows that were refused, in the order of the input. */
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

/** Counts of rows. */
export interface Report {
  /** Rows by what became of them; what earlier runs have done is not in it. */
  counts: Record<RowStatus, number>
  /** Rows that earlier runs have created or updated. Nothing was asked of the service about them. */
  alreadyDone: number
  /** Of the skipped: rows with faults. */
  invalid: number
  /** Of the skipped: what the same command would still send. */
  remaining: number
  /** Whether every row was answered, so that nothing is left to send and nothing is unknown. */
  isFinished: boolean
  /** Path of the file of rows that failed or have faults, where there are any. */
  failedRows: string | undefined
  /** Path of the file of unknown rows, where there are more than are told one by one. */
  unknownRows: string | undefined
}

/** Rows of one kind that are told one by one. */
const toldRows = 10

/** Says of every row what became of it, and writes the files that say so. */
export async function reportRows(reporting: Reporting): Promise<Report> {
  const { input, kind, journal, results, hasPasswords, warn } = reporting
  const writer = results === undefined ? undefined : openResults(results, hasPasswords)
  const passwords = results !== undefined && hasPasswords ? openPasswords(journal, results) : undefined
  const counting = new ReportCount(reporting)
  try {
    for await (const batch of readRows(input, kind)) {
      const written: WrittenResult[] = []
      for (const row of batch) {
        const result = await counting.take(row, writer !== undefined)
        if (result === undefined || writer === undefined) continue
        const password = await passwords?.of(row)
        written.push(password === undefined ? result : { ...result, password })
      }
      await writer?.write(written)
    }
    await passwords?.end()
    await writer?.finish()
    return await counting.finish(warn)
  } catch (error) {
    await counting.discard()
    await writer?.discard()
    throw error
  } finally {
    await passwords?.close()
  }
}

/** Counts the rows by what became of them, and lists those that somebody has to see to. */
class ReportCount {
  readonly #reporting: Reporting
  readonly #counts = Object.fromEntries(rowStatuses.map((status) => [status, 0])) as Report['counts']
  readonly #paths: Record<RowListName, string>
  readonly #failed: FailedRows
  readonly #unknown: UnknownRows
  /** Unknown rows that somebody is asked about, and those that the same command sends again. */
  readonly #told = { asked: 0, resent: 0 }
  #alreadyDone = 0
  #invalid = 0
  #remaining = 0
  #isFinished = true

  constructor(reporting: Reporting) {
    const { input, journal } = reporting
    this.#reporting = reporting
    this.#paths = {
      failed: rowListPath('failed', input, journal),
      unknown: rowListPath('unknown', input, journal),
    }
    this.#failed = new FailedRows(this.#paths.failed, input.format)
    this.#unknown = new UnknownRows(this.#paths.unknown)
  }

  /** @param isWanted whether a result is written of every row */
  async take(row: InputRow, isWanted: boolean): Promise<RowResult | undefined> {
    const { checked, journal } = this.#reporting
    const standing = standingOf(row, checked.faulty, journal)
    const { status, remains } = standing
    const isInvalid = checked.faulty.has(row.index)
    if (status === 'unknown' || (status === 'skipped' && remains)) this.#isFinished = false
    if (status === 'skipped' && remains) this.#remaining++
    if (isInvalid) this.#invalid++
    const isDone = status === 'created' || status === 'updated'
    if (isDone && !journal.wasRequested(row.index)) this.#alreadyDone++
    else this.#counts[status]++
    const isListed = isInvalid || status === 'unknown' || status === 'failed'
    if (!isListed && !isWanted) return undefined
    const result = resultOf(row, checked.faulty, journal, standing)
    if (status === 'unknown') await this.#takeUnknown(row, result, remains)
    if (status === 'failed' && this.#counts.failed <= toldRows) this.#reporting.onFailed(result)
    if (status === 'failed' || isInvalid)
      await this.#failed.add(row, isInvalid ? undefined : result.id || undefined)
    return result
  }

  async finish(warn: Reporting['warn']): Promise<Report> {
    const { journal } = this.#reporting
    await keepRowList('failed', this.#failed, this.#paths.failed, journal)
    await keepRowList('unknown', this.#unknown, this.#paths.unknown, journal)
    const [failed, unknown] = [this.#failed.trouble, this.#unknown.trouble]
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
    const isTold = this.#told[remains ? 'resent' : 'asked']++ < toldRows
    if (isTold) onUnknown(result, remains ? undefined : unsettled(row, journal))
    await this.#unknown.add({ ...result, line: describePlace(row) }, isTold)
  }
}

function unsettled(row: InputRow, journal: Journal): Unsettled {
  return { place: describePlace(row), mayRetry: journal.rows.of(row.index)?.phase !== 'nameless' }
}

export function openResults(path: string, hasPasswords: boolean): ResultsWriter {
  return new ResultsWriter(new DocumentFile(path), { format: formatOfResults(path), hasPasswords })
}
