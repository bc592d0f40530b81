import type { Mismatch } from '../../contract/contradictions.ts'
import { Failure } from '../../contract/failure.ts'
import { hashOfField, isSameField } from '../../contract/managed-fields.ts'
import { isNumber, isRecord } from '../../contract/notation/exact-json.ts'
import { type User, userIn } from '../../contract/resources/user.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import type { ComparedEntry } from '../compare-user.ts'
import { isReadable, readField } from '../managed-fields.ts'
import type { StateEntry } from '../state/state-entry.ts'
import { groupOf, type PlannedUser } from './users-plan.ts'

/**
 * What became of a user.
 *
 * - `created`, `changed`: done, and read back where that is possible
 * - `adopted`: added to the state file, and nothing had to be changed
 * - `unchanged`: already as wanted when it was read again; nothing was sent
 * - `unverified`: the service confirmed the changes, but the user could not be read back
 * - `conflict`: changed since the plan was made; nothing was sent
 * - `not_applied`: the service confirmed the changes, but reports other values
 * - `failed`: refused by the service
 * - `unknown`: the outcome of a request is unknown
 * - `nameless`: created, but the response had no id, or was about another user
 * - `pending`: the run ended before everything was sent
 */
type OutcomeStatus =
  | 'created'
  | 'changed'
  | 'adopted'
  | 'unchanged'
  | 'unverified'
  | 'conflict'
  | 'not_applied'
  | 'failed'
  | 'unknown'
  | 'nameless'
  | 'pending'

export interface UserOutcome {
  email: string
  id: string | undefined
  status: OutcomeStatus
  /** Whether this run created the user. */
  isCreated: boolean
  /** Fields that were sent and cannot be read back. */
  sent: readonly string[]
  /** Of a `conflict` or `not_applied`. */
  mismatches: readonly Mismatch[]
  failure?: Failure
}

type Fields = ReadonlyMap<string, unknown>

/**
 * The fields that are about to be sent, and that someone else has changed since the plan was made. A field that
 * already has the wanted value is none of them.
 * @param fields the fields to send
 * @param now the user as it was read just now, and the hashes of the values that were last sent
 */
export function findChangedSince(
  { difference }: PlannedUser,
  fields: Fields,
  now: { user: User; hashes: StateEntry['hashes'] },
): Mismatch[] {
  const planned = new Map(difference.fields.map((field) => [field.path, field]))
  return findNotApplied(fields, now.user).flatMap((mismatch) => {
    const { path, found } = mismatch
    const field = planned.get(path)
    // The plan said that the field has the wanted value.
    if (!field) return [mismatch]
    if (field.basis === 'unknown') return []
    if (field.basis === 'last_sent')
      return hashOfField(path, found) === now.hashes[path] ? [] : [{ ...mismatch, expected: undefined }]
    return isSameField(path, found, field.from) ? [] : [{ ...mismatch, expected: field.from }]
  })
}

/** The fields with another value than the one that was sent. Fields that cannot be read are none of them. */
export function findNotApplied(fields: Fields, user: User): Mismatch[] {
  return [...fields].flatMap(([path, expected]) => {
    if (!isReadable(path)) return []
    const found = readField(user, path)
    return isSameField(path, found, expected) ? [] : [{ path, expected, found }]
  })
}

/** Whether a field has the value that a user had before. */
export function showsValueOf(before: User): (mismatch: Mismatch) => boolean {
  return ({ path, found }) => isSameField(path, found, readField(before, path))
}

/** The fields that a response shows with a value that is neither the one that was sent nor the one before. */
export function findLost(fields: Fields, response: unknown, before: User): Mismatch[] {
  const user = userIn(response)
  if (!isRecord(user)) return []
  const isShown = ({ path, found }: Mismatch) => found != null || isRecord(user[groupOf(path)])
  return findNotApplied(fields, user)
    .filter(isShown)
    .filter((mismatch) => !showsValueOf(before)(mismatch))
}

/** Maximum number of sets of permissions that are compared with the one that was last sent. */
const maxSets = 4096

/**
 * The permissions in a response if one of them was sent last, and not now: the service only adds. Others may have been
 * there before.
 * @param last the hash of the permissions that were last sent
 */
export function findKept(
  sent: readonly unknown[] | undefined,
  response: unknown,
  last: string | undefined,
): Mismatch[] {
  const { permissions: found } = Object(userIn(response))
  if (!sent || last === undefined || !Array.isArray(found) || found.every((one) => sent.includes(one)))
    return []
  const sets = [{ items: found, from: 0 }]
  for (const { items, from } of sets) {
    if (hashOfField('permissions', items) === last)
      return items.every((one) => sent.includes(one)) ? [] : [{ path: 'permissions', expected: sent, found }]
    for (let at = from; at < items.length && sets.length < maxSets; at++)
      sets.push({ items: items.toSpliced(at, 1), from: at })
  }
  return []
}

/** The paths of the fields that a response shows with the values that were sent. */
export function findShown(sent: Fields, body: unknown): string[] {
  const user = Object(userIn(body))
  const shown = [...sent].filter(
    ([path, value]) => value !== null && isSameField(path, readField(user, path), value),
  )
  return shown.map(([path]) => path)
}

/** The failure of a create with an email that belongs to another user. A service may name that user. */
export function emailTaken(failure: Failure, email: string): Failure {
  return failure.reworded(failure.message, {
    advice: [{ code: 'adopt_existing', email, id: ownerOf(failure) }],
  })
}

/** The ID of the user who has the email, if the service named it. */
export function ownerOf(failure: Failure): string | undefined {
  const details = isRecord(failure.details) ? failure.details : {}
  const given = details['id'] ?? details['user_id']
  return typeof given === 'string' || isNumber(given) ? String(given) : undefined
}

/** @param words what has changed, such as `no longer exists` */
export function changedUser(id: string, words: string): Failure {
  return new Failure('conflict', `The user ${visibleJson(id)} ${words}`)
}

/** The failure of a create whose response has the id of another user. */
export function takenId({ id, email }: StateEntry): Failure {
  return new Failure('conflict', `The response has the ID ${visibleJson(id)} of ${email}`)
}

/**
 * The failure if the state file or the ledger has changed since the plan was made, in a way that matters
 * for this user.
 */
export function stateConflict(
  { difference, hashes }: PlannedUser,
  entry: ComparedEntry | undefined,
): Failure | undefined {
  const { action, id, fields } = difference
  const isNew = entry === undefined || entry.creation === 'forgotten'
  // The file, or the ledger of the machine that made the plan, has the ID of a user to adopt; here, the user is read.
  if ((action === 'create' && isNew) || (action === 'adopt' && entry?.id === undefined)) return undefined
  if (action === 'unknown' && entry?.creation === 'unknown') return undefined
  if (id !== undefined && entry?.id === id) {
    // Without a reading, the hash is all that is known of a value.
    const sent = fields.find(
      ({ path, basis }) => basis !== 'service' && hashes?.[path] !== entry.hashes[path],
    )
    return sent && new Failure('conflict', `The last sent value of ${sent.path} has changed`)
  }
  const now = isNew
    ? 'no longer contains this user'
    : entry.id === undefined
      ? 'contains this user with an unknown outcome'
      : `contains this user with the id ${visibleJson(entry.id)}`
  const holder = entry?.ids ? 'The ledger on this machine' : 'The state file'
  return new Failure('conflict', `${holder} now ${now}`)
}
