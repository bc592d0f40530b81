import { writeFailedList, writeRowList } from '../../bulk/failed-rows.ts'
import type { FileReport } from '../../bulk/file-run.ts'
import type { Input } from '../../bulk/input/input.ts'
import { Failure } from '../../contract/failure.ts'
import type { Run } from '../../run/run.ts'
import { formatRowPlace } from '../planned-work.ts'
import type { CheckedInput, CheckedRow, ValidRow } from '../rows/check-input.ts'
import { type RowKind, stepsOf } from '../rows/imported-user.ts'
import { isUnresolved, remainingSteps } from '../rows/row-state.ts'
import { userRows } from '../rows/user-rows.ts'
import type { GeneratedPasswords } from './generated-passwords.ts'
import { type RowStatus, rowStatuses, type WrittenResult, writeResults } from './results-file.ts'

export interface ReportOptions {
  input: Input
  kind: RowKind
  checked: CheckedInput
  run: Run
  /** The results file, and its passwords. */
  results: GeneratedPasswords | undefined
}

/** A row whose outcome is unknown. */
export interface UnknownRow extends RowResult {
  /** As `--line` takes it. */
  place: string
  /** False if the user was certainly created. */
  mayRetry: boolean
}

export interface Report extends Omit<FileReport, 'rows' | 'requests' | 'ended'> {
  counts: Record<RowStatus, number>
  /** The first failed rows, in the order of the input. */
  failed: readonly RowResult[]
  /** The first unknown rows of each kind: those that the user must resolve, and those that the same command sends. */
  unknown: readonly UnknownRow[]
  /** Path of the file of unknown rows, if `unknown` does not have all of them. */
  unknownRows: string | undefined
  /** Files of rows that could not be written. */
  warnings: readonly string[]
}

/** Maximum number of listed rows of a kind. */
const maxListedRows = 10

/** Determines the result of every row, and writes the results file and the files of failed and unknown rows. */
export async function reportRows(reporting: ReportOptions): Promise<Report> {
  const { kind, checked, results } = reporting
  const counts = Object.fromEntries(rowStatuses.map((status) => [status, 0])) as Report['counts']
  const failed: (RowResult & { index: number })[] = []
  const unknown: UnknownRow[] = []
  let alreadyDone = 0
  let remaining = 0
  for (const row of checked.rows) {
    const result = resultOf(row)
    const { status, remains } = result
    const isDone = status === 'created' || status === 'updated'
    if (isDone && 'state' in row && !row.state?.isCurrent) alreadyDone++
    else counts[status]++
    if (status === 'skipped' && remains) remaining++
    if (status === 'failed') failed.push({ ...result, index: row.index })
    if (status === 'unknown' && 'state' in row) {
      const mayRetry = row.state?.outcome !== 'done' && row.state?.hold === undefined
      unknown.push({ ...result, place: formatRowPlace(row), mayRetry })
    }
  }
  const [unresolved, resent] = [
    unknown.filter(({ remains }) => !remains),
    unknown.filter(({ remains }) => remains),
  ]
  const listed = [...unresolved.slice(0, maxListedRows), ...resent.slice(0, maxListedRows)]
  const warnings: string[] = []
  const warn = (what: string) => (failure: Failure) => {
    warnings.push(`Cannot write the file of ${what} rows: ${failure.message}`)
  }
  const ids = new Map(failed.map(({ index, id }) => [index, id || undefined]))
  for (const { index, fault } of checked.rows) if (fault !== undefined) ids.set(index, undefined)
  const failedList = writeFailedList({ ...reporting, shape: userRows(kind) }, ids)
  const failedRows = await unlessFailed(failedList, warn('failed'))
  const unknownList = writeUnknown(reporting, listed.length < unknown.length ? unknown : [])
  const unknownRows = await unlessFailed(unknownList, warn('unknown'))
  let resultsFailure: Failure | undefined
  const all = checked.rows.map((row): WrittenResult => {
    const result = resultOf(row)
    return 'state' in row ? result : { ...result, password: '' }
  })
  if (results)
    await unlessFailed(results.finish(all), (failure) => {
      resultsFailure = failure
    })
  const invalid = checked.rows.length - checked.valid.length
  const files = { failedRows, unknownRows, warnings, resultsFailure }
  return {
    ...{ counts, alreadyDone, invalid, remaining, ...files },
    ...{ failed: failed.slice(0, maxListedRows), unknown: listed },
  }
}

async function unlessFailed<T>(work: Promise<T>, tell: (failure: Failure) => void): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    tell(error)
    return undefined
  }
}

async function writeUnknown(
  { input, run }: ReportOptions,
  rows: readonly UnknownRow[],
): Promise<string | undefined> {
  const results = rows.map((row) => ({ ...row, line: row.place }))
  const write = rows.length === 0 ? undefined : (path: string) => writeResults(path, results, false)
  return writeRowList('unknown', { input, run }, write)
}

/** The result of a row, also of what earlier runs have sent. */
export interface RowResult {
  line: number
  email: string
  id: string
  status: RowStatus
  error: string
  /** Whether the same command would send the rest of the row. */
  remains: boolean
}

export function resultOf(checked: CheckedRow | ValidRow): RowResult {
  const { line, row, fault } = checked
  const common = { line, email: row?.email ?? '', id: row?.id ?? '' }
  if (!('state' in checked)) return { ...common, status: 'skipped', error: fault ?? '', remains: false }
  const progress = progressOf(checked)
  const isDone = progress.status === 'created' || progress.status === 'updated'
  const id = common.id || (checked.state?.id ?? '')
  return { ...common, id, ...progress, error: isDone ? '' : explain(checked, progress) }
}

type Progress = Pick<RowResult, 'status' | 'remains'>

function progressOf({ row, state }: ValidRow): Progress {
  if (stepsOf(row).length === 0) return { status: 'skipped', remains: false }
  if (state?.hold === 'skipped') return { status: 'skipped', remains: false }
  if (isUnresolved(state)) return { status: 'unknown', remains: false }
  const { outcome } = state ?? {}
  if (outcome === 'refused' || outcome === 'contradicted') return { status: 'failed', remains: true }
  if (outcome === 'unknown' || outcome === 'unverified') return { status: 'unknown', remains: true }
  if (remainingSteps(row, state).length > 0) return { status: 'skipped', remains: true }
  const isUpdated = row.id !== undefined || (state?.isCurrent === true && !state.isCreator)
  return { status: isUpdated ? 'updated' : 'created', remains: false }
}

function explain({ row, state }: ValidRow, { status, remains }: Progress): string {
  const { step, outcome, error: words = '' } = state ?? {}
  const isNew = row.id === undefined
  const isAfterCreate = isNew && step !== undefined && step !== 'create'
  if (status === 'skipped') {
    if (!remains) return stepsOf(row).length === 0 ? 'the row has nothing to send' : 'skipped on request'
    const isBegun = outcome === 'done'
    if (isAfterCreate || (isNew && isBegun))
      return 'the user was created; the rest of the row is not sent yet'
    return words || (isBegun ? 'the rest of the row is not sent yet' : 'not sent yet')
  }
  const what = step === 'assign' ? 'assignment' : 'update'
  if (status === 'failed')
    return `${isAfterCreate ? `the user was created, but the ${what} failed: ` : ''}${words}`
  return step === 'create' ? words : `the outcome of the ${what} is unknown: ${words}`
}
