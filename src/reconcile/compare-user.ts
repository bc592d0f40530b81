import { Failure } from '../contract/failure.ts'
import type { User } from '../contract/user.ts'
import { visibleJson } from '../terminal/strip-controls.ts'
import {
  hashOfField,
  isReadable,
  isSameField,
  managedFields,
  readField,
  type WantedUser,
} from './managed-fields.ts'
import type { Found, StateEntry } from './state/state-entry.ts'
import type { FieldDifference, UserDifference } from './user-difference.ts'

/** The result of reading a user. `missing`: 404. `unread`: no request was sent. */
export type UserReading = { user: User } | { failure: Failure } | 'missing' | 'unread'

/** What is known about a user before it is read. */
export interface ComparedEntry extends Pick<StateEntry, 'id' | 'creation' | 'hashes' | 'found'> {
  /** Only if it comes from the record of changes: the IDs of all users that were created with the email. */
  ids?: readonly string[]
}

/**
 * Compares a wanted user with what is known about it.
 *
 * @param entry of the state file or the record of changes; undefined for a user that is in neither
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
  if (!entry) return { email, id: undefined, action: 'create', fields: allOf(fields) }
  const { id, hashes, found } = entry
  if (entry.creation === 'unknown') return { email, id, action: 'unknown', fields: [] }
  if (id === undefined || entry.creation !== undefined)
    return { email, id, action: 'unknown', fields: [], error: idUnknown(entry.ids) }
  if (reading === 'missing' || (reading === 'unread' && found === 'missing'))
    return { email, id, action: 'missing', fields: allOf(fields) }
  if (reading === 'unread') {
    const changes = changesOf(fields, (path, to) => {
      const change = compareWithSent(path, to, hashes[path])
      return change ?? compareWithFound(path, to, typeof found === 'object' ? found[path] : undefined)
    })
    return { email, id, action: changes.length > 0 ? 'change' : 'unread', fields: changes }
  }
  if ('failure' in reading) return { email, id, action: 'failed', fields: [], error: reading.failure }
  const error = otherUser(email, id, reading.user)
  if (error) return { email, id, action: 'failed', fields: [], error }
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
  const changes: FieldDifference[] = []
  for (const [path, to] of fields) {
    const change = compare(path, to)
    if (change) changes.push(change)
  }
  return changes
}

function compareWithSent(path: string, to: unknown, sent: string | undefined): FieldDifference | undefined {
  if (sent === hashOfField(path, to)) return undefined
  const basis = sent === undefined ? 'unknown' : 'last_sent'
  return { path, from: undefined, to, basis, drifted: false }
}

/** An earlier run read another value, and nobody has read the user since. */
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
  const words =
    ids.length > 1
      ? `the email was created more than once from this machine, with the IDs ${ids.map(visibleJson).join(' and ')}`
      : 'the user exists, but its ID is not known'
  return new Failure('incomplete', words, { code: 'id_unknown' })
}

/** The failure if the id belongs to a user with another email: a change would reach the wrong person. */
export function otherUser(email: string, id: string, { email: found }: User): Failure | undefined {
  if (typeof found !== 'string' || found.toLowerCase() === email.toLowerCase()) return undefined
  const words = `The user ${visibleJson(id)} has the email ${visibleJson(found)} on the service, not ${visibleJson(email)}`
  return new Failure('conflict', words, { advice: [{ code: 'other_email' }] })
}
