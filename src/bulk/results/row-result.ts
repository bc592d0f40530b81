import type { InputRow } from '../input/input-row.ts'
import type { RowSet } from '../input/row-set.ts'
import type { Journal } from '../journal/journal.ts'
import { isUnsettled, type RowState, remainingSteps } from '../journal/row-states.ts'

export const rowStatuses = ['created', 'updated', 'failed', 'unknown', 'skipped'] as const
export type RowStatus = (typeof rowStatuses)[number]

/** How a row stands, all runs of the journal together. */
export interface Standing {
  status: RowStatus
  /** Whether something of it is still to be sent, which the same command does. */
  remains: boolean
}

/** A row of the file of results. */
export interface RowResult {
  line: number
  email: string
  id: string
  status: RowStatus
  error: string
}

export function standingOf(input: InputRow, faulty: RowSet, journal: Journal): Standing {
  const { index, row } = input
  if (!row || faulty.has(index)) return { status: 'skipped', remains: false }
  const state = journal.rows.of(index)
  if (state?.phase === 'skipped') return { status: 'skipped', remains: false }
  if (isUnsettled(state)) return { status: 'unknown', remains: false }
  if (state?.phase === 'refused') return { status: 'failed', remains: true }
  if (state?.phase === 'unknown' || state?.phase === 'intended') return { status: 'unknown', remains: true }
  if (remainingSteps(row, state).length > 0) return { status: 'skipped', remains: true }
  return { status: row.id === undefined ? 'created' : 'updated', remains: false }
}

export function resultOf(
  input: InputRow,
  faulty: RowSet,
  journal: Journal,
  standing: Standing = standingOf(input, faulty, journal),
): RowResult {
  const { index, line, row } = input
  const { status } = standing
  const last = journal.lastLine(index)
  const reason = () =>
    faulty.has(index)
      ? describeFaults(input)
      : explain(input, journal.rows.of(index), last?.error ?? '', standing)
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

/** @param words what the journal has of it; empty for nothing */
function explain(
  { row }: InputRow,
  state: RowState | undefined,
  words: string,
  { status, remains }: Standing,
): string {
  const isBehindCreate = row?.id === undefined && state !== undefined && state.step !== 'create'
  if (status === 'skipped' && !remains) return 'skipped on request'
  if (status === 'skipped') {
    if (isBehindCreate || (row?.id === undefined && state?.phase === 'took')) {
      return 'the user was created; the rest of the row is not sent yet'
    }
    return words || (state?.phase === 'took' ? 'the rest of the row is not sent yet' : 'not sent yet')
  }
  const what = isBehindCreate ? `the user was created, but the ${nameOf(state.step)} failed: ` : ''
  if (status === 'failed') return `${what}${words}`
  const doubt = words || 'the run ended before a response arrived'
  return state?.step === 'create' ? doubt : `the outcome of the ${nameOf(state?.step)} is unknown: ${doubt}`
}

function nameOf(step: string | undefined): string {
  return step === 'assign' ? 'assignment' : 'update'
}
