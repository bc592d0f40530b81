import { createHash, randomBytes } from 'node:crypto'
import type { ApiKeyRow, Database, Tier } from '../store/tables.ts'
import type { Caller } from './caller.ts'
import { createId } from './identifiers.ts'
import { includes, type Role, rolePermissions } from './permissions.ts'
import { adminId } from './users.ts'

/** interface.md, "Limits": requests per hour. Enterprise has its own number, or none. */
export const tierLimits = { free: 100, pro: 1000 } as const

/** A key as it may be shown: never the key, only how it begins. */
export interface KeyRecord {
  id: string
  name: string
  tier: Tier
  /** Requests per hour; null for no limit. */
  limit: number | null
  prefix: string
  created_at: string
  last_used_at: string | null
  revoked_at: string | null
}

export interface NewKey {
  name: string
  tier: Tier
  limit: number | null
}

/** `ck_` and 256 random bits. */
export const generateKey = (): string => `ck_${randomBytes(32).toString('base64url')}`

/** A key has 256 random bits, so a plain digest cannot be searched; a slow hash would only cost time. */
export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Stores a new key of the admin's. The key itself is in this answer and nowhere else. */
export async function storeKey(
  db: Database,
  { name, tier, limit }: NewKey,
): Promise<KeyRecord & { key: string }> {
  const key = generateKey()
  const row: ApiKeyRow = {
    id: createId('key'),
    name,
    hash: hashKey(key),
    prefix: key.slice(0, 9),
    user_id: adminId,
    tier,
    hourly_limit: limit,
    created_at: new Date().toISOString(),
    last_used_at: null,
    revoked_at: null,
    permissions: null,
    expires_at: null,
  }
  await db.insertInto('api_keys').values(row).execute()
  return { ...present(row), key }
}

/** Oldest first. */
export async function listKeys(db: Database): Promise<KeyRecord[]> {
  return (await db.selectFrom('api_keys').selectAll().orderBy('id').execute()).map(present)
}

/** Revokes a key from this moment on; one that is revoked keeps its date. Undefined for an unknown id. */
export async function revokeKey(db: Database, id: string): Promise<KeyRecord | undefined> {
  await db
    .updateTable('api_keys')
    .set({ revoked_at: new Date().toISOString() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
  const row = await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst()
  return row && present(row)
}

/**
 * Undefined for a key that is unknown, revoked or past its end. Read at each request, so a
 * revocation holds at once.
 */
export async function findCaller(db: Database, key: string): Promise<Caller | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .select([
      'api_keys.id',
      'api_keys.user_id',
      'api_keys.last_used_at',
      'api_keys.hourly_limit',
      'api_keys.permissions as key_permissions',
      'api_keys.expires_at',
      'users.role',
      'users.permissions as user_permissions',
    ])
    .where('api_keys.hash', '=', hashKey(key))
    .where('api_keys.revoked_at', 'is', null)
    .executeTakeFirst()
  if (!row || (row.expires_at !== null && Date.parse(row.expires_at) <= Date.now())) return undefined
  await noteUse(db, row.id, row.last_used_at)
  const ofUser = [...rolePermissions[row.role as Role], ...JSON.parse(row.user_permissions)]
  const ofKey: string[] | null = row.key_permissions === null ? null : JSON.parse(row.key_permissions)
  return {
    keyId: row.id,
    userId: row.user_id,
    may: (permission) => includes(ofUser, permission) && (ofKey === null || includes(ofKey, permission)),
    hourlyLimit: row.hourly_limit,
    isCounted: true,
  }
}

/** `last_used_at` is kept to the minute: a write for every request would cost more than it tells. */
async function noteUse(db: Database, id: string, lastUsedAt: string | null): Promise<void> {
  const now = new Date()
  if (lastUsedAt !== null && now.getTime() - Date.parse(lastUsedAt) < 60_000) return
  try {
    await db.updateTable('api_keys').set({ last_used_at: now.toISOString() }).where('id', '=', id).execute()
  } catch {
    // A full disk must not keep anybody from reading.
  }
}

function present({
  id,
  name,
  tier,
  hourly_limit,
  prefix,
  created_at,
  last_used_at,
  revoked_at,
}: ApiKeyRow): KeyRecord {
  return { id, name, tier, limit: hourly_limit, prefix, created_at, last_used_at, revoked_at }
}
