import type { Journal } from '../journal/journal.ts'
import { type Step, stepsOf, type UserRow } from './user-row.ts'

/** The steps of a row that are still to be sent, in order. */
export function remainingSteps(row: UserRow, journal: Journal, index: number): Step[] {
  const steps = stepsOf(row)
  const state = journal.rows.of(index)
  if (!state) return steps
  if (state.phase === 'skipped') return []
  const at = steps.indexOf(state.step)
  return steps.slice(state.phase === 'took' ? at + 1 : at)
}
