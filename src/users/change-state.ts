import type { Throttle } from '../bulk/send/throttle.ts'
import type { Client } from '../client/client.ts'
import type { ApiResponse } from '../client/response/response.ts'
import type { Advice } from '../contract/advice.ts'
import { Failure } from '../contract/failure.ts'
import { nearest } from '../contract/nearest-word.ts'
import { idIn, type User, userIn } from '../contract/resources/user.ts'
import type { KnownUsers } from './known-users.ts'
import { getUsers } from './send/get-users.ts'
import { combined, formatEntry, keyOf, type StateEntry } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

/**
 * Forgets users, so that the next run creates them. The state says that they are forgotten, so that neither the ledger
 * nor another state brings them back.
 * @returns what was known
 * @throws Failure `refused` if nothing is known about one of the emails; no user is forgotten then
 */
export function forgetUsers(
  emails: readonly string[],
  {
    state,
    isDryRun,
    known,
  }: { state: UsersState; isDryRun: boolean; known: Pick<KnownUsers, 'find' | 'recorded'> },
): { email: string; id: string | null }[] {
  const users = emails.map((email) => {
    const found = known.find(email)
    if (!found) throw noEntry(email, state, true)
    const { id, creation } = found
    return { email, id: (creation === 'forgotten' ? state.find(email)?.forgotten : id) ?? null }
  })
  if (isDryRun) return users
  for (const { email, id } of users) {
    const isKept = id !== null || known.find(email)?.creation === 'forgotten' || known.recorded(email)
    if (isKept) state.note({ email, creation: 'forgotten', forgotten: id ?? undefined, hashes: {} })
    else state.remove(email)
  }
  return users
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

/** @param suggests whether the error names the most similar email */
export function noEntry(
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

/** The most similar email. The domains are usually equal, so only the part before it counts. */
function nearestEmail(email: string, state: UsersState): string | undefined {
  const key = keyOf(email)
  const emails = Array.from(state.entries(), (entry) => entry.email)
  return nearest(key, emails.map(keyOf), Math.max(2, Math.floor(key.lastIndexOf('@') / 3)))
}

/** A user to add to the state. */
export interface KnownUser {
  email: string
  id: string
  /** Where the id comes from, for the error about an invalid id. */
  place?: string
}

/**
 * `adopted`: the email had no entry, or none with an id. `unchanged`: it had this id. `replaced`: it had another
 * id. `moved`: the id had another email.
 */
type AdoptionStatus = 'adopted' | 'unchanged' | 'replaced' | 'moved'

interface Adoption {
  email: string
  id: string
  status: AdoptionStatus
  /** The id that was replaced, or the email from which the id was moved. */
  previous?: string
  /** False if the response contains no email to compare with. */
  isChecked: boolean
}

export type AdoptionResult = { user: KnownUser } & (
  | { adoption: Adoption; response: ApiResponse<User> }
  | { failure: Failure }
)

/**
 * Reads users concurrently, and adds each to the state if the service reports the expected email. A failure is
 * a result too.
 * @throws Failure if all further requests would fail too, or for an invalid id
 */
export async function* adoptUsers(
  users: Iterable<KnownUser> | AsyncIterable<KnownUser>,
  state: UsersState,
  { isDryRun, ...sending }: { client: Client; throttle: Throttle; concurrency: number; isDryRun: boolean },
): AsyncIterable<AdoptionResult> {
  for await (const result of getUsers(users, sending)) {
    const { requested: user } = result
    if ('failure' in result) {
      yield { user, failure: result.failure }
      continue
    }
    const { body } = result.response
    const { email } = (userIn(body) ?? {}) as User
    const reported = typeof email === 'string' && email !== '' ? email : undefined
    const failure = contradiction(user, idIn(body), reported)
    if (failure) {
      yield { user, failure }
      continue
    }
    const { entry, adoption } = adopt(user, reported, state)
    if (!isDryRun && adoption.status !== 'unchanged') state.note(entry)
    yield { user, adoption, response: result.response }
  }
}

/** A service may have other names for a user, such as `me`. */
function contradiction(
  { email, id }: KnownUser,
  reportedId: string | undefined,
  reportedEmail: string | undefined,
): Failure | undefined {
  if (reportedEmail !== undefined && keyOf(reportedEmail) !== keyOf(email)) {
    return new Failure('conflict', `User ${id} has the email ${reportedEmail}, not ${email}`, {
      hint: 'Check the id and the email.',
    })
  }
  if (reportedId === undefined || reportedId === id) return undefined
  return new Failure('conflict', `The service responds with user ${reportedId} to the id ${id}`, {
    hint: `If this is the user, adopt ${email}=${reportedId}`,
  })
}

function adopt({ email: given, id }: KnownUser, reported: string | undefined, state: UsersState) {
  const email = reported ?? given
  const found = state.find(email)
  const holder = state.findById(id)
  const as = (status: AdoptionStatus, hashes: StateEntry['hashes'], previous?: string) => ({
    entry: { email, id, hashes },
    adoption: { email, id, status, previous, isChecked: reported !== undefined },
  })
  // This user has these values, under either email.
  if (holder && keyOf(holder.email) !== keyOf(email)) return as('moved', holder.hashes, holder.email)
  if (found?.id !== undefined && found.id !== id) return as('replaced', {}, found.id)
  const isKnown = found?.id === id && found.creation === undefined
  return as(isKnown ? 'unchanged' : 'adopted', found?.hashes ?? {})
}
