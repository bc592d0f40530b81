import { Failure } from '../../contract/failure.ts'
import {
  checkCovered,
  checkEnd,
  checkKeyName,
  checkKnownPermissions,
  limitOf,
} from '../domain/access/check-key.ts'
import { changeKey, findKey, type KeyRecord, lockKey, type NewKey, storeKey } from '../domain/access/keys.ts'
import { adminId, rightsOfUser } from '../domain/access/permissions.ts'
import { onMachine } from '../domain/audit.ts'
import type { Database, Tier } from '../store/tables.ts'
import { findPerson } from './find-person.ts'

export interface KeyRequest {
  name: string
  tier: Tier
  /** Requests per hour, for enterprise alone; none when not given. */
  limit?: number | undefined
  /** Id or email; the built-in admin when not given. */
  user?: string | undefined
  /** What the key may do at most; all that its user may when not given. */
  permissions?: readonly string[] | undefined
  /** ISO 8601; never when not given. */
  expiresAt?: string | undefined
}

/** What is not given stays. */
export interface KeyChange {
  name?: string | undefined
  tier?: Tier | undefined
  limit?: number | undefined
  /** Null for all that its user may. */
  permissions?: readonly string[] | null | undefined
  /** Null for never. */
  expiresAt?: string | null | undefined
}

/** The key in full, which is shown this once. */
export type CreatedKey = Omit<KeyRecord, 'prefix' | 'last_used_at' | 'revoked_at'> & { key: string }

/**
 * The key that a request asks for; nothing is changed.
 *
 * @param db undefined where there is no data yet
 * @throws Failure `usage`, `not_found` for the user, `refused` for more than the user may
 */
export async function planKey(db: Database | undefined, request: KeyRequest): Promise<NewKey> {
  const { name, tier, user = adminId, permissions, expiresAt } = request
  checkKeyName(name)
  const limit = limitOf(tier, request.limit)
  if (permissions) checkKnownPermissions(permissions)
  if (expiresAt !== undefined) checkEnd(expiresAt, Date.now())
  const person = await findPerson(db, user)
  if (permissions)
    checkCovered(permissions, rightsOfUser(person.id, person.role, person.permissions), person.email)
  return {
    name,
    tier,
    limit,
    user_id: person.id,
    permissions: permissions ? [...new Set(permissions)] : null,
    expires_at: expiresAt ?? null,
  }
}

/** @param planned as `planKey` makes it */
export async function createKey(db: Database, planned: NewKey): Promise<CreatedKey> {
  const { prefix: _, last_used_at, revoked_at, ...created } = await storeKey(db, planned, onMachine)
  return created
}

/**
 * What a change would make of a key; nothing is changed.
 * @throws Failure `not_found`, `conflict` for a revoked key, and as `planKey`
 */
export async function planKeyChange(
  db: Database,
  id: string,
  { name, tier, limit, permissions, expiresAt }: KeyChange,
): Promise<{ key: KeyRecord; change: Partial<Omit<NewKey, 'user_id'>> }> {
  if (name !== undefined) checkKeyName(name)
  if (permissions) checkKnownPermissions(permissions)
  if (typeof expiresAt === 'string') checkEnd(expiresAt, Date.now())
  const key = await findKey(db, id)
  if (!key) throw unknownKey(id)
  if (key.revoked_at !== null) {
    throw new Failure('conflict', `The API key ${id} is revoked, for good`, {
      advice: [{ code: 'create_key' }],
    })
  }
  if (permissions) {
    const person = await findPerson(db, key.user_id)
    checkCovered(permissions, rightsOfUser(person.id, person.role, person.permissions), person.email)
  }
  const isOtherTier = tier !== undefined && tier !== key.tier
  const change = {
    ...(name !== undefined && { name }),
    ...(isOtherTier && { tier }),
    ...((isOtherTier || limit !== undefined) && { limit: limitOf(tier ?? key.tier, limit) }),
    ...(permissions !== undefined && { permissions: permissions && [...new Set(permissions)] }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  }
  return { key, change }
}

/** @throws as `planKeyChange` */
export function updateKey(db: Database, id: string, wanted: KeyChange): Promise<KeyRecord> {
  return db.transaction().execute(async (transaction) => {
    await lockKey(transaction, id)
    const { key, change } = await planKeyChange(transaction, id, wanted)
    return changeKey(transaction, key, change, onMachine)
  })
}

export const unknownKey = (id: string): Failure =>
  new Failure('not_found', `There is no API key ${id}`, { advice: [{ code: 'list_keys' }] })
