import type { Users } from '../client/users.ts'
import { Failure } from '../contract/failure.ts'
import { hashOfField, isSameField, managedFields } from '../contract/managed-fields.ts'
import { type User, userIn } from '../contract/resources/user.ts'
import { visibleJson } from '../terminal/strip-controls.ts'
import { isReadable, readField, type WantedUser } from './managed-fields.ts'
import type { Found, StateEntry } from './state/state-entry.ts'

/**
 * What applying the files would do with a user. `adopt`: add the id of the ledger to the state file, and
 * change what differs. `missing`: the service responds with 404 for the known id. `unknown`: the outcome of an
 * earlier create is unknown, or its id is. `failed`: the user could not be read. `unread`: the user was not read,
 * and nothing differs from what was last sent.
 */
type UserAction = 'create' | 'change' | 'adopt' | 'none' | 'missing' | 'unknown' | 'failed' | 'unread'

/** A managed field that differs. */
export interface FieldDifference {
  path: string
  /** Undefined if the service has no value, or if the value is not known (see `basis`). */
  from: unknown
  to: unknown
  /**
   * `service`: the value was read now. `last_sent`: the wanted value is compared with the hash of the value that
   * was last sent. `unknown`: the current value is not known.
   */
  basis: 'service' | 'last_sent' | 'unknown'
  /** The service's value is neither the wanted one nor the one that was last sent: someone else changed it. */
  drifted: boolean
}

export interface UserDifference {
  email: string
  id: string | undefined
  action: UserAction
  /** For a user to create: all fields. Empty unless the action is `create`, `change`, `adopt`, or `missing`. */
  fields: readonly FieldDifference[]
  /** The place of the user in the files. */
  file?: string
  line?: number
  /** Only if the action is `failed`. */
  error?: Failure
}

/** The result of reading a user. `missing`: 404. `unread`: no request was sent. */
export type UserReading = { user: User } | { failure: Failure } | 'missing' | 'unread'

/** What is known about a user before it is read. */
export interface ComparedEntry extends Pick<StateEntry, 'id' | 'creation' | 'hashes' | 'found'> {
  /** Only if it comes from the ledger: the IDs of all users that were created with the email. */
  ids?: readonly string[]
  /** Whether only a row has the ID, so that the service must show the email. */
  isUnchecked?: boolean
  /** Why the ID of a row is wrong. */
  fault?: Failure
}

/**
 * Compares a wanted user with what is known about it.
 * @param entry of the state file or the ledger; undefined for a user that is in neither
 */
export function compareUser(
  wanted: WantedUser,
  entry: ComparedEntry | undefined,
  reading: UserReading,
): UserDifference {
  const difference = compare(wanted, entry, reading)
  const isFound = entry?.ids && ['none', 'change', 'unread'].includes(difference.action)
  return isFound ? { ...difference, action: 'adopt' } : difference
}

function compare(wanted: WantedUser, entry: ComparedEntry | undefined, reading: UserReading): UserDifference {
  const { email } = wanted
  const fields = managedFields(wanted)
  if (!entry || entry.creation === 'forgotten')
    return { email, id: undefined, action: 'create', fields: allOf(fields) }
  const { id, hashes, found, isUnchecked } = entry
  const failed = (error: Failure) => ({ email, id, action: 'failed', fields: [], error }) as const
  if (entry.fault) return failed(entry.fault)
  if (entry.creation === 'unknown') return { email, id, action: 'unknown', fields: [] }
  if (id === undefined || entry.creation !== undefined)
    return { email, id, action: 'unknown', fields: [], error: idUnknown(entry.ids) }
  const wrong = (words: string) => failed(new Failure('refused', `${words}; check the ID in the file`))
  if (reading === 'missing' && isUnchecked) return wrong(`No user has the ID ${visibleJson(id)}`)
  if (reading === 'missing' || (reading === 'unread' && found === 'missing'))
    return { email, id, action: 'missing', fields: allOf(fields) }
  if (reading === 'unread' && isUnchecked) return failed(notShown(email, id))
  if (reading === 'unread') {
    const changes = changesOf(fields, (path, to) => {
      const change = compareWithSent(path, to, hashes[path])
      return change ?? compareWithFound(path, to, typeof found === 'object' ? found[path] : undefined)
    })
    return { email, id, action: changes.length > 0 ? 'change' : 'unread', fields: changes }
  }
  if ('failure' in reading) return failed(reading.failure)
  const error = otherUser(email, id, reading.user)
  if (error) return isUnchecked ? wrong(error.message) : failed(error)
  if (isUnchecked && typeof reading.user.email !== 'string') return failed(notShown(email, id))
  const changes = changesOf(fields, (path, to) =>
    isReadable(path)
      ? compareWithService(path, to, readField(reading.user, path), hashes[path])
      : compareWithSent(path, to, hashes[path]),
  )
  return { email, id, action: changes.length > 0 ? 'change' : 'none', fields: changes }
}

type Fields = ReadonlyMap<string, unknown>

/** The fields of a user that the service does not have. */
function allOf(fields: Fields): FieldDifference[] {
  return [...fields].map(([path, to]) => ({ path, from: undefined, to, basis: 'service', drifted: false }))
}

function changesOf(
  fields: Fields,
  compare: (path: string, to: unknown) => FieldDifference | undefined,
): FieldDifference[] {
  return [...fields].flatMap(([path, to]) => compare(path, to) ?? [])
}

function compareWithSent(path: string, to: unknown, sent: string | undefined): FieldDifference | undefined {
  if (sent === hashOfField(path, to)) return undefined
  const basis = sent === undefined ? 'unknown' : 'last_sent'
  return { path, from: undefined, to, basis, drifted: false }
}

/** An earlier run read another value, and no run has read the user since. */
function compareWithFound(path: string, to: unknown, found: string | undefined): FieldDifference | undefined {
  if (found === undefined || found === hashOfField(path, to)) return undefined
  return { path, from: undefined, to, basis: 'last_sent', drifted: true }
}

/** The drift that a reading has shown, for later runs that do not read the user. */
export function foundBy({ action, fields }: UserDifference): Found | undefined {
  if (action === 'missing') return 'missing'
  const drifted = fields.filter((field) => field.drifted)
  if (drifted.length === 0) return undefined
  return Object.fromEntries(drifted.map(({ path, from }) => [path, hashOfField(path, from)]))
}

function compareWithService(
  path: string,
  to: unknown,
  from: unknown,
  sent: string | undefined,
): FieldDifference | undefined {
  if (isSameField(path, from, to)) return undefined
  const drifted = sent !== undefined && sent !== hashOfField(path, from)
  return { path, from, to, basis: 'service', drifted }
}

/** @param ids of several users with the email */
function idUnknown(ids: readonly string[] = []): Failure {
  const words = ids.length > 1 ? severalUsers(ids) : 'the user exists, but its ID is not known'
  return new Failure('incomplete', words, { code: 'id_unknown' })
}

/** Why the ID of an email is not known. */
export function severalUsers(ids: readonly string[]): string {
  return `the email was created more than once from this machine, with the IDs ${ids.map(visibleJson).join(' and ')}`
}

/** The failure if only a row has the ID, and the service did not show that the user has the email. */
function notShown(email: string, id: string): Failure {
  const words = `Cannot check that the user ${visibleJson(id)} has the email ${email}`
  return new Failure('incomplete', words, {
    hint: 'Check the user on the service. To record the right ID, run: chatctl users adopt EMAIL=ID --state FILE',
  })
}

/** The failure if the id belongs to a user with another email: a change would reach the wrong user. */
export function otherUser(email: string, id: string, { email: found }: User): Failure | undefined {
  if (typeof found !== 'string' || found.toLowerCase() === email.toLowerCase()) return undefined
  const words = `The user ${visibleJson(id)} has the email ${visibleJson(found)} on the service, not ${visibleJson(email)}`
  return new Failure('conflict', words, {
    hint: 'Check the user on the service. To record the right ID, run: chatctl users adopt EMAIL=ID --state FILE',
  })
}

/** The fields of a user in a response (docs/interface.md, "User"). */
const documented = ['id', 'email', 'name', 'created_at', 'metadata', 'settings'] as const

/**
 * Reads a user.
 * @throws Failure as the client; `invalid_response` for a body without any documented field, which would
 *   otherwise look like a user whose values are all missing
 */
export async function readUser(users: Pick<Users, 'get'>, id: string): Promise<User> {
  const { body, status } = await users.get(id)
  const user = (userIn(body) ?? {}) as User
  if (documented.some((field) => (user[field] ?? undefined) !== undefined)) return user
  throw new Failure('invalid_response', `The response for user ${id} contains no field of a user`, { status })
}
