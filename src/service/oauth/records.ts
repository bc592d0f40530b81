import type { Clock } from '../../system/clock.ts'
import { tokenPrefixes } from '../domain/access/keys.ts'
import type { Database } from '../store/tables.ts'

/** SHA-256, hex. The database contains only the digests of ids. Ids are random, so they cannot be guessed from a digest. */
export const digest = (id: string): string => process.getBuiltinModule('node:crypto').hash('sha256', id)

/**
 * How a record names another one: `#` and the digest of its id, which is not valid as an id. A payload
 * from the database already contains references.
 */
const referTo = (id: string): string => (id.startsWith('#') ? id : `#${digest(id)}`)

/** The digest of an id or a reference. Must not be used for a value that a client sent. */
export const digestOfReference = (idOrReference: string): string => referTo(idOrReference).slice(1)

/** Fields of a payload that name another record. */
const referenceFields = new Set(['grantId', 'sessionUid', 'uid'])

/** The id, the expiry, and the user code of a record have columns. `cookie` would be the id of a session in an interaction. */
const omittedFields = new Set(['jti', 'exp', 'consumed', 'cookie', 'userCode'])

/** Replaces the id of an interaction in its return address. */
const ownId = '{id}'

/** The stored JSON of a payload, without any id. */
export function writePayload(id: string, payload: object): string {
  return JSON.stringify(payload, (key, value) => {
    if (omittedFields.has(key)) return undefined
    if (typeof value !== 'string') return value
    if (referenceFields.has(key)) return referTo(value)
    return key === 'returnTo' ? value.replace(id, ownId) : value
  })
}

/** Reverses `writePayload`. @param id the id that the record was found by */
export function readPayload(id: string | undefined, text: string): Record<string, unknown> {
  const payload = JSON.parse(text)
  if (id === undefined) return payload
  if (typeof payload.returnTo === 'string') payload.returnTo = payload.returnTo.replace(ownId, id)
  return { ...payload, jti: id }
}

/** Minimum time between two removals of one process, in ms. */
const removeInterval = 10 * 60_000

/** How long a failed attempt counts, in ms. */
export const failureLifetime = 60 * 60_000

/** Returns a function that removes expired records at intervals. Until then, queries ignore them. */
export function createExpiredRemover(db: Database, clock: Clock): () => void {
  let next = 0
  return () => {
    const now = clock.now()
    if (now < next) return
    next = now + removeInterval
    // Nothing waits for the removal, and the next one makes up for a failure.
    void removeExpired(db, now).catch(() => {})
  }
}

async function removeExpired(db: Database, now: number): Promise<void> {
  await db
    .deleteFrom('oauth_records')
    .where('expires_at', '<=', Math.floor(now / 1000))
    .execute()
  await db
    .deleteFrom('api_keys')
    .where('prefix', 'like', tokenPrefixes)
    .where('expires_at', '<=', new Date(now).toISOString())
    .execute()
  await db
    .deleteFrom('sign_in_failures')
    .where('last_failure_at', '<=', now - failureLifetime)
    .execute()
}
