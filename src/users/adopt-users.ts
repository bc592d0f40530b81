import type { Client } from '../client/client.ts'
import { type ApiResponse, idIn } from '../client/response/response.ts'
import { Failure } from '../contract/failure.ts'
import type { User } from '../contract/resources/user.ts'
import { getUsers } from './send/get-users.ts'
import type { Throttle } from './send/throttle.ts'
import { keyOf, type StateEntry } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

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
 *
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
    const email: unknown = body?.email
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

function adopt(
  { email: given, id }: KnownUser,
  reported: string | undefined,
  state: UsersState,
): { entry: StateEntry; adoption: Adoption } {
  const email = reported ?? given
  const isChecked = reported !== undefined
  const found = state.find(email)
  const holder = state.findById(id)
  if (holder !== undefined && keyOf(holder.email) !== keyOf(email)) {
    // This user has these values, under either email.
    const entry = { email, id, hashes: holder.hashes }
    return { entry, adoption: { email, id, status: 'moved', previous: holder.email, isChecked } }
  }
  if (found?.id !== undefined && found.id !== id) {
    const entry = { email, id, hashes: {} }
    return { entry, adoption: { email, id, status: 'replaced', previous: found.id, isChecked } }
  }
  const isKnown = found?.id === id && found.creation === undefined
  const entry = { email, id, hashes: found?.hashes ?? {} }
  return { entry, adoption: { email, id, status: isKnown ? 'unchanged' : 'adopted', isChecked } }
}
