import { isNumber, isRecord } from '../../contract/exact-json.ts'
import { Failure } from '../../contract/failure.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import type { ComparedEntry } from '../compare-user.ts'
import type { StateEntry } from '../state/state-entry.ts'
import type { PlannedUser } from './planned-user.ts'

/** The failure of a create with an email that belongs to another user. A service may name that user. */
export function emailTaken(failure: Failure, email: string): Failure {
  const details = isRecord(failure.details) ? failure.details : {}
  const given = details['id'] ?? details['user_id']
  const id = typeof given === 'string' || isNumber(given) ? String(given) : undefined
  return failure.reworded(failure.message, { advice: [{ code: 'adopt_existing', email, id }] })
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
 * The failure if the state file or the record of changes has changed since the plan was made, in a way that matters
 * for this user.
 */
export function stateConflict(
  { difference, hashes }: PlannedUser,
  entry: ComparedEntry | undefined,
): Failure | undefined {
  const { action, id, fields } = difference
  const isNew = entry === undefined || entry.creation === 'forgotten'
  if (action === 'create' && isNew) return undefined
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
  const holder = entry?.ids ? 'The record of changes on this machine' : 'The state file'
  return new Failure('conflict', `${holder} now ${now}`)
}

/** A service may quote the request in an error. */
export function withoutPassword(failure: Failure, password: string | undefined): Failure {
  if (password === undefined || password === '' || !failure.message.includes(password)) return failure
  const { kind, code, status, isOutcomeUnknown } = failure
  return new Failure(kind, 'The response is not shown because it contains the password', {
    code,
    isOutcomeUnknown,
    ...(status === undefined ? {} : { status }),
  })
}
