import type { InputRow } from '../input/input-row.ts'
import type { RowSet } from '../input/row-set.ts'
import type { Journal } from '../journal/journal.ts'
import { isUnresolved, type RowState, remainingSteps } from '../journal/row-states.ts'

export const rowStatuses = ['created', 'updated', 'failed', 'unknown', 'skipped'] as const
export type RowStatus = (typeof rowStatuses)[number]

/** The progress of a row, over all runs of the journal. */
export interface RowProgress {
  status: RowStatus
  /** Whether the same command would send the rest of the row. */
  remains: boolean
}

/** A row of the results file. */
export interface RowResult {
  line: number
  email: string
  id: string
  status: RowStatus
  error: string
}

export function progressOf(input: InputRow, faulty: RowSet, journal: Journal): RowProgress {
  const { index, row } = input
  if (!row || faulty.has(index)) return { status: 'skipped', remains: false }
  const state = journal.rows.of(index)
  if (state?.phase === 'skipped') return { status: 'skipped', remains: false }
  if (isUnresolved(state)) return { status: 'unknown', remains: false }
  if (state?.phase === 'refused' || state?.phase === 'differs') return { status: 'failed', remains: true }
  if (state?.phase === 'unknown' || state?.phase === 'intended') return { status: 'unknown', remains: true }
  if (remainingSteps(row, state).length > 0) return { status: 'skipped', remains: true }
  const isUpdated =
    row.id !== undefined || (journal.rows.offsetOf(index) > 0 && !journal.rows.isCreator(index))
  return { status: isUpdated ? 'updated' : 'created', remains: false }
}

export function resultOf(
  input: InputRow,
  faulty: RowSet,
  journal: Journal,
  progress: RowProgress = progressOf(input, faulty, journal),
): RowResult {
  const { index, line, row } = input
  const { status } = progress
  const last = journal.lastLine(index)
  const reason = () =>
    faulty.has(index)
      ? describeFaults(input)
      : explain(input, journal.rows.of(index), last?.error ?? '', progress)
  return {
    line,
    email: row?.email ?? '',
    id: row?.id ?? last?.id ?? '',
    status,
    error: isDone(status) ? '' : reason(),
  }
}

function isDone(status: RowStatus): boolean {
  return status === 'created' || status === 'updated'
}

function describeFaults({ faults }: InputRow): string {
  return (
    faults.map(({ message }) => message).join('; ') || 'its email or id is already used by an earlier row'
  )
}

/** @param words the error in the journal; empty if none is recorded */
function explain(
  { row }: InputRow,
  state: RowState | undefined,
  words: string,
  { status, remains }: RowProgress,
): string {
  const isAfterCreate = row?.id === undefined && state !== undefined && state.step !== 'create'
  if (status === 'skipped' && !remains) return 'skipped on request'
  if (status === 'skipped') {
    if (isAfterCreate || (row?.id === undefined && state?.phase === 'took')) {
      return 'the user was created; the rest of the row is not sent yet'
    }
    return words || (state?.phase === 'took' ? 'the rest of the row is not sent yet' : 'not sent yet')
  }
  const what = isAfterCreate ? `the user was created, but the ${nameOf(state.step)} failed: ` : ''
  if (status === 'failed') return `${what}${words}`
  const reason = words || 'the run ended before a response arrived'
  return state?.step === 'create' ? reason : `the outcome of the ${nameOf(state?.step)} is unknown: ${reason}`
}

function nameOf(step: string | undefined): string {
  return step === 'assign' ? 'assignment' : 'update'
}
