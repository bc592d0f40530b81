import type { Journal, Step } from '../bulk/journal/journal.ts'
import { Failure } from '../contract/failure.ts'
import { hashOfField, managedFields } from '../contract/managed-fields.ts'
import type { ValidRow } from './rows/check-input.ts'
import { type ImportedUser, stepsOf } from './rows/imported-user.ts'
import { keyOf } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

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

/** The rows for which something was sent. */
export function* knownRows(rows: readonly ValidRow[], journal: Journal): Iterable<KnownRow> {
  for (const row of rows) {
    const known = knownRow(row, journal)
    if (known) yield known
  }
}

/** @returns undefined if nothing was sent for the row */
function knownRow({ key, row }: ValidRow, journal: Journal): KnownRow | undefined {
  const state = journal.content.states.get(key)
  if (state === undefined) return undefined
  const { step, phase, id, isCreator } = state
  const steps = stepsOf(row)
  const at = steps.indexOf(step)
  // A response has shown that the ID of the row belongs to another user.
  if (row.id !== undefined && id === undefined) return undefined
  const isUnsure = phase === 'unknown' || phase === 'intended' || phase === 'differs'
  const isNameless = phase === 'nameless' || (phase === 'took' && id === undefined)
  // The name and the metadata of a user that others have created were not sent.
  const { name: _, metadata: __, ...sent } = row
  return {
    user: row.id !== undefined || isCreator ? row : { ...sent, id },
    id,
    done: steps.slice(0, phase === 'took' ? at + 1 : at),
    unsure: isUnsure ? step : undefined,
    creation: isNameless ? 'nameless' : isUnsure && step === 'create' ? 'unknown' : undefined,
    isCurrent: journal.wasRequested(key),
  }
}

/** What became of the users of an import. */
export interface RowAdoption {
  /** Rows whose user is in the state. */
  adopted: number
  /** Rows with an id, but without an email. */
  withoutEmail: number
  /** Rows whose id or email belongs to another user in the state. */
  contradicting: number
  /** Why the rest of the rows was not added. The import must report its results nevertheless. */
  failure?: Failure
}

/** Adds the users of an import to the state, with hashes of the fields that were sent. */
export function adoptRows(rows: Iterable<KnownRow>, state: UsersState): RowAdoption {
  const counts: RowAdoption = { adopted: 0, withoutEmail: 0, contradicting: 0 }
  try {
    for (const row of rows) {
      const counted = adoptRow(row, state)
      if (counted) counts[counted]++
    }
    return counts
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure
    return { ...counts, failure }
  }
}

function adoptRow(
  { user, id, done, unsure, creation, isCurrent }: KnownRow,
  state: UsersState,
): 'adopted' | 'withoutEmail' | 'contradicting' | undefined {
  const { email } = user
  const found = email === undefined ? undefined : state.find(email)
  if (id === undefined) {
    const isNew = email !== undefined && creation && found?.id === undefined
    if (isNew) state.note({ email, creation, hashes: {} })
    return undefined
  }
  if (done.length === 0 && unsure === undefined) return undefined
  if (email === undefined) return 'withoutEmail'
  const holder = state.findById(id)
  const isOther = holder !== undefined && keyOf(holder.email) !== keyOf(email)
  // The email of a row with an id was not sent, so the state is more reliable. A create is newer than the state.
  const isCreated = isCurrent && user.id === undefined
  if (!isCreated && (isOther || (found?.id !== undefined && found.id !== id))) return 'contradicting'
  const hashes = new Map(Object.entries(holder?.hashes ?? {}))
  // Whether the service has the new or the old value is not known.
  if (unsure) for (const path of fieldsOf(user, unsure).keys()) hashes.delete(path)
  for (const [path, value] of done.flatMap((step) => [...fieldsOf(user, step)])) {
    const hash = hashOfField(path, value)
    if (isCurrent || holder === undefined) hashes.set(path, hash)
    // Which of the two was sent last is not known.
    else if (hashes.get(path) !== hash) hashes.delete(path)
  }
  state.note({ email, id, hashes: Object.fromEntries(hashes) })
  return 'adopted'
}

/** The managed fields that a step sends, by path. */
function fieldsOf(user: ImportedUser, step: Step): Map<string, unknown> {
  const { name, metadata, settings, role, permissions } = user
  if (step === 'create') return managedFields({ name, metadata })
  if (step === 'assign') return managedFields({ role, permissions })
  return managedFields(user.id === undefined ? { settings } : { name, metadata, settings })
}
