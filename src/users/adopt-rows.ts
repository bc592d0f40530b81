import { Failure } from '../contract/failure.ts'
import type { KnownUsers } from './known-users.ts'
import type { ValidRow } from './rows/check-input.ts'
import { keyOf } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

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

/** What is known before and after the import. */
interface Knowledge {
  state: UsersState
  before: Pick<KnownUsers, 'end'>
  after: Pick<KnownUsers, 'sent'>
}

/** Adds the users of an import to the state, with hashes of the fields that were last sent. */
export function adoptRows(rows: readonly ValidRow[], knowledge: Knowledge): RowAdoption {
  const counts: RowAdoption = { adopted: 0, withoutEmail: 0, contradicting: 0 }
  try {
    for (const row of rows) {
      const counted = adoptRow(row, knowledge)
      if (counted) counts[counted]++
    }
    return counts
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure
    return { ...counts, failure }
  }
}

function adoptRow(
  { row: { id: given, email }, state: sent }: ValidRow,
  { state, before, after }: Knowledge,
): 'adopted' | 'withoutEmail' | 'contradicting' | undefined {
  if (!sent || (sent.step === 'create' && sent.outcome === 'refused')) return undefined
  const { id, outcome, isCurrent, isCreator } = sent
  const found = email === undefined ? undefined : state.find(email)
  if (id === undefined) {
    const creation = outcome === 'done' ? 'nameless' : outcome && 'unknown'
    if (given === undefined && email !== undefined && creation && found?.id === undefined)
      state.note({ email, creation, hashes: {} })
    return undefined
  }
  if (email === undefined) return 'withoutEmail'
  const holder = state.findById(id)
  const isOther = holder !== undefined && keyOf(holder.email) !== keyOf(email)
  // The email of a row with an id was not sent, so the state is more reliable. A create is newer than the state.
  const isCreated = isCurrent && isCreator
  if (!isCreated && (isOther || (found?.id !== undefined && found.id !== id))) return 'contradicting'
  const hashes = new Map(Object.entries(holder?.hashes ?? {}))
  for (const [path, { hash, outcome, position }] of after.sent().get(id) ?? []) {
    if (holder && position < before.end().size) continue
    // Whether the service has the new or the old value is not known.
    if (outcome === 'done') hashes.set(path, hash)
    else hashes.delete(path)
  }
  state.note({ email, id, hashes: Object.fromEntries(hashes) })
  return 'adopted'
}
