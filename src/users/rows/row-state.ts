import type { Outcome } from '../../contract/failure.ts'
import { type ImportedUser, type Step, stepsOf } from './imported-user.ts'

/** The last step of a row that was sent or is done. */
export interface RowState {
  step: Step
  /** Undefined if it was certainly not done and is sent again, for example after a 429. */
  outcome: Outcome | undefined
  /** Of the user. Undefined if it is not known, or belongs to another user. */
  id: string | undefined
  /** Why the step was refused, or why its outcome is unknown. */
  error: string | undefined
  /** Whether the user was created without an ID in the response, which a later step needs. */
  lacksId: boolean
  /** Why an unknown outcome is not resolved: on request, or because another command waits for the response. */
  hold: 'skipped' | 'in_progress' | undefined
  /** Whether this import has created the user. */
  isCreator: boolean
  /** Whether this run has sent a request for the row. */
  isCurrent: boolean
}

/** Whether the outcome of a create is unknown, so that the user must resolve it. */
export function isUnresolved(state: RowState | undefined): boolean {
  if (state?.step !== 'create' || state.hold === 'skipped') return false
  return state.lacksId || state.outcome === 'unknown' || state.outcome === 'unverified'
}

/** The steps of a row that are not done yet, in order. */
export function remainingSteps(row: ImportedUser, state: RowState | undefined): Step[] {
  const steps = stepsOf(row)
  if (!state) return steps
  const { step, outcome, lacksId, hold } = state
  if (hold === 'skipped' || (step === 'create' && outcome === 'contradicted')) return []
  const at = steps.indexOf(step)
  return steps.slice(outcome === 'done' && !lacksId ? at + 1 : at)
}

/** Why the other steps of a row cannot be sent. */
export const noId = 'the user was created, but its id is unknown'
