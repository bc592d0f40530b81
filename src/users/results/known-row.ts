import type { InputRow } from '../input/input-row.ts'
import type { Journal } from '../journal/journal.ts'
import { type ImportedUser, type Step, stepsOf } from '../rows/imported-user.ts'

/** What is known about the user of a row, over all runs of the journal. */
export interface KnownRow {
  user: ImportedUser
  id: string | undefined
  /** The steps that succeeded. */
  done: readonly Step[]
  /** A step that may have succeeded. */
  unsure: Step | undefined
  /** Whether the create may have succeeded, or has succeeded without an id in the response. */
  creation: 'unknown' | 'nameless' | undefined
  /** Whether this run has sent a request for the row. If not, others may have changed the user since. */
  isCurrent: boolean
}

/** @returns undefined if nothing was sent for the row */
export function knownRow({ index, row }: InputRow, journal: Journal): KnownRow | undefined {
  const state = journal.rows.of(index)
  if (row === undefined || state === undefined) return undefined
  const { step, phase } = state
  const steps = stepsOf(row)
  const at = steps.indexOf(step)
  const done = steps.slice(0, phase === 'took' ? at + 1 : at)
  const { id } = journal.lastLine(index) ?? {}
  // A response has shown that the ID of the row belongs to another user.
  if (row.id !== undefined && id === undefined) return undefined
  const isUnsure = phase === 'unknown' || phase === 'intended' || phase === 'differs'
  const isNameless = phase === 'nameless' || (phase === 'took' && id === undefined)
  // The name and the metadata of a user that others have created were not sent.
  const { name: _, metadata: __, ...sent } = row
  const isOwn = row.id !== undefined || journal.rows.isCreator(index)
  return {
    user: isOwn ? row : { ...sent, ...(id !== undefined && { id }) },
    id,
    done,
    unsure: isUnsure ? step : undefined,
    creation: isNameless ? 'nameless' : isUnsure && step === 'create' ? 'unknown' : undefined,
    isCurrent: journal.wasRequested(index),
  }
}
