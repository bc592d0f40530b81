import type { ComparedEntry } from './compare-user.ts'
import { noEntry } from './id-of-email.ts'
import { agreed } from './state/load-state.ts'
import { formatEntry, keyOf, type StateEntry } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

interface StateChanging {
  state: UsersState
  /** Of the state file, for errors. */
  name: string
  isDryRun: boolean
}

/**
 * Forgets users, so that the next run creates them. If the record of changes has one, the state says that it is
 * forgotten.
 *
 * @returns what was known
 * @throws Failure `refused` if nothing is known about one of the emails; no user is forgotten then
 */
export function forgetUsers(
  emails: readonly string[],
  { state, name, isDryRun, recorded }: StateChanging & { recorded(email: string): ComparedEntry | undefined },
): { email: string; id: string | null }[] {
  const known = emails.map((email) => {
    const entry = state.find(email)
    const record = recorded(email)
    if (entry || record) return { email: entry?.email ?? email, id: entry?.id ?? record?.id ?? null, record }
    throw noEntry(email, { state, name, suggests: true })
  })
  return known.map(({ email, id, record }) => {
    if (isDryRun) return { email, id }
    if (record) state.note({ email, id: undefined, creation: 'forgotten', hashes: {} })
    else state.remove(email)
    return { email, id }
  })
}

interface MergedUser {
  email: string
  id: string | null
  status: 'added' | 'changed' | 'conflict'
  /** Of a conflict: the other ID of the email, or the other email of the ID. */
  other: string | null
}

/**
 * Adds the users of another state. Of the hashes, it keeps those on which both agree.
 *
 * @returns the changes, or the conflicts, if there are any: nothing was merged then
 */
export function mergeStates(
  other: UsersState,
  { state, isDryRun }: Omit<StateChanging, 'name'>,
): MergedUser[] {
  const changes: StateEntry[] = []
  const merged: MergedUser[] = []
  for (const theirs of other.allEntries()) {
    const ours = state.find(theirs.email)
    const entry = ours ? combined(ours, theirs) : theirs
    const conflict = conflictOf(ours, theirs, state)
    if (conflict === undefined && ours && formatEntry(entry) === formatEntry(ours)) continue
    changes.push(entry)
    const status = conflict === undefined ? (ours ? 'changed' : 'added') : 'conflict'
    merged.push({ email: entry.email, id: entry.id ?? null, status, other: conflict ?? null })
  }
  const conflicts = merged.filter(({ status }) => status === 'conflict')
  if (conflicts.length > 0) return conflicts
  if (!isDryRun) {
    for (const entry of changes) state.note(entry)
    state.follow(other.serial)
  }
  return merged
}

/** The other ID of an email, or the other email of an ID. */
function conflictOf(ours: StateEntry | undefined, theirs: StateEntry, state: UsersState): string | undefined {
  if (theirs.id === undefined) return undefined
  if (ours?.id !== undefined && ours.id !== theirs.id) return theirs.id
  const holder = state.findById(theirs.id)
  return holder && keyOf(holder.email) !== keyOf(theirs.email) ? holder.email : undefined
}

/** From the least that can be known about a creation to the most. */
const creations: readonly StateEntry['creation'][] = ['forgotten', 'unknown', 'nameless', undefined]

function combined(ours: StateEntry, theirs: StateEntry): StateEntry {
  const [mine, other] = [ours, theirs].map(({ creation }) => creations.indexOf(creation))
  if (mine === other) return agreed(ours, theirs)
  return Number(mine) > Number(other) ? ours : theirs
}
