import type { RowState } from '../journal/row-states.ts'
import { type Step, stepsOf, type UserRow } from './user-row.ts'

/** The steps of a row that are still to be sent, in order. */
export function remainingSteps(row: UserRow, state: RowState | undefined): Step[] {
  const steps = stepsOf(row)
  if (!state) return steps
  if (state.phase === 'skipped') return []
  const at = steps.indexOf(state.step)
  return steps.slice(state.phase === 'took' ? at + 1 : at)
}
