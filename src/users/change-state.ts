import { distance } from 'fastest-levenshtein'
import type { Advice } from '../contract/advice.ts'
import { Failure } from '../contract/failure.ts'
import type { ComparedEntry } from './compare-user.ts'

import { combined, formatEntry, keyOf, type StateEntry } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

/**
 * Forgets users, so that the next run creates them. If the record of changes has one, the state says that it is
 * forgotten.
 *
 * @returns what was known
 * @throws Failure `refused` if nothing is known about one of the emails; no user is forgotten then
 */
export function forgetUsers(
  emails: readonly string[],
  {
    state,
    isDryRun,
    recorded,
  }: { state: UsersState; isDryRun: boolean; recorded(email: string): ComparedEntry | undefined },
): { email: string; id: string | null }[] {
  const known = emails.map((email) => {
    const found = state.find(email) ?? recorded(email)
    if (found) return { email, id: found.id ?? null }
    throw noEntry(email, state, true)
  })
  if (isDryRun) return known
  for (const { email } of known) {
    if (recorded(email)) state.note({ email, id: undefined, creation: 'forgotten', hashes: {} })
    else state.remove(email)
  }
  return known
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
  { state, isDryRun }: { state: UsersState; isDryRun: boolean },
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

/**
 * The id of a user in the state.
 *
 * @param suggests whether the error names the most similar email, for which all entries are read
 * @throws Failure `refused` if the file does not exist, the email has no entry, or its id is unknown
 */
export function idOfEmail(email: string, state: UsersState, suggests: boolean): string {
  const { name } = state
  const found = state.find(email)
  if (found?.id !== undefined) return found.id
  const advice = [{ code: 'adopt_email' as const, email, state: name }]
  if (found === undefined || found.creation === 'forgotten') throw noEntry(email, state, suggests, advice)
  throw new Failure('refused', `The id of ${email} is unknown: ${name} has no outcome of its creation`, {
    advice,
  })
}

function noEntry(
  email: string,
  state: UsersState,
  suggests: boolean,
  advice: readonly Advice[] = [],
): Failure {
  const { name } = state
  if (!state.exists) return new Failure('refused', `The state file ${name} does not exist`, { advice })
  const meant = suggests ? nearestEmail(email, state) : undefined
  return new Failure('refused', `${name} has no user with the email ${email}`, {
    hint: meant && `Did you mean ${meant}?`,
    advice,
  })
}

/** The most similar email. */
function nearestEmail(email: string, state: UsersState): string | undefined {
  const key = keyOf(email)
  let best: string | undefined
  // The domains are usually equal, so only the part before it counts.
  let least = Math.max(2, Math.floor(key.lastIndexOf('@') / 3)) + 1
  for (const entry of state.entries()) {
    const differences = distance(key, keyOf(entry.email))
    if (differences >= least) continue
    least = differences
    best = entry.email
  }
  return best
}
