import { isoNow } from '../../../system/clock.ts'
import type { ApiKeyRow, Database, Tier } from '../../store/tables.ts'
import { type AuditContext, recordChange } from '../audit.ts'
import { createId } from '../identifiers.ts'

/** Requests per hour: docs/interface.md, "Limits". A key of tier enterprise has its own limit or none. */
export const tierLimits = { free: 100, pro: 1000 } as const

/** A key without its secret: only `prefix`, its first characters. */
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
  user_id: string
  user_email: string
  /** The permissions of the key, within those of its user; null for all of its user's. */
  permissions: string[] | null
  /** When the key expires; null for never. */
  expires_at: string | null
}

export type NewKey = Pick<KeyRecord, 'name' | 'tier' | 'limit' | 'user_id' | 'permissions' | 'expires_at'>

/** `ck_` and 256 random bits. An access token, of a trust or exchanged, begins with `ct_`. */
export const generateKey = (kind: 'ck' | 'ct' = 'ck'): string =>
  `${kind}_${process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url')}`

/** A plain digest is enough: a key has 256 random bits, so it cannot be guessed from its digest. */
export const hashKey = (key: string): string => process.getBuiltinModule('node:crypto').hash('sha256', key)

/** The prefixes of access tokens, for LIKE. */
export const tokenPrefixes = 'ct%'

/** Stores a new key or access token. Only the result contains it. Must run inside a transaction. */
export async function insertKey(
  transaction: Database,
  kind: 'ck' | 'ct',
  attributes: Omit<NewKey, 'limit'> &
    Pick<ApiKeyRow, 'hourly_limit'> &
    Partial<Pick<ApiKeyRow, 'trust_id' | 'source'>>,
  { clock }: AuditContext,
): Promise<{ id: string; key: string }> {
  const key = generateKey(kind)
  const id = createId('key')
  const { permissions } = attributes
  const row: ApiKeyRow = {
    ...{ trust_id: null, source: null, last_used_at: null, revoked_at: null },
    ...attributes,
    permissions: permissions && JSON.stringify(permissions),
    ...{ id, hash: hashKey(key), prefix: key.slice(0, 9), created_at: isoNow(clock) },
  }
  await transaction.insertInto('api_keys').values(row).execute()
  return { id, key }
}

/** Stores a new key. Only the result contains the key itself. Must run inside a transaction. */
export async function storeKey(
  transaction: Database,
  wanted: NewKey,
  by: AuditContext,
): Promise<KeyRecord & { key: string }> {
  const { name, tier, limit: hourly_limit, user_id, permissions, expires_at } = wanted
  const attributes = { name, tier, hourly_limit, user_id, permissions, expires_at }
  const { id, key } = await insertKey(transaction, 'ck', attributes, by)
  await recordChange(transaction, by, { action: 'key.create', target: id, before: null, after: wanted })
  return { ...(await readKey(transaction, id)), key }
}

/**
 * Replaces a key with a new one. Must run inside a transaction that has read it.
 * @param ending the name and end of the old key; undefined revokes it
 */
export async function replaceKey(
  transaction: Database,
  old: KeyRecord,
  wanted: NewKey,
  ending: Pick<NewKey, 'name' | 'expires_at'> | undefined,
  by: AuditContext,
): Promise<{ created: KeyRecord & { key: string }; replaced: KeyRecord }> {
  const replaced = ending
    ? await changeKey(transaction, old, ending, by)
    : await revokeLocked(transaction, old, by)
  return { created: await storeKey(transaction, wanted, by), replaced }
}

/** Oldest first. */
export async function listKeys(db: Database): Promise<KeyRecord[]> {
  return (await selectKeys(db).orderBy('api_keys.id').execute()).map(present)
}

export async function findKey(db: Database, id: string): Promise<KeyRecord | undefined> {
  const row = await selectKeys(db).where('api_keys.id', '=', id).executeTakeFirst()
  return row && present(row)
}

/** Changes the given attributes of a key. Must run inside a transaction that has read it. */
export async function changeKey(
  transaction: Database,
  before: KeyRecord,
  change: Partial<Omit<NewKey, 'user_id'>>,
  by: AuditContext,
): Promise<KeyRecord> {
  const { name, tier, limit, permissions, expires_at } = { ...before, ...change }
  await transaction
    .updateTable('api_keys')
    .set({
      name,
      tier,
      hourly_limit: limit,
      permissions: permissions && JSON.stringify(permissions),
      expires_at,
    })
    .where('id', '=', before.id)
    .execute()
  const after = await readKey(transaction, before.id)
  await recordChange(transaction, by, { action: 'key.update', target: before.id, before, after })
  return after
}

/** Revokes a key now. A revoked key keeps its date. Must run inside a transaction. */
export async function revokeKey(transaction: Database, id: string, by: AuditContext): Promise<KeyRecord> {
  await lockKey(transaction, id)
  const before = await readKey(transaction, id)
  return before.revoked_at === null ? revokeLocked(transaction, before, by) : before
}

async function revokeLocked(transaction: Database, before: KeyRecord, by: AuditContext): Promise<KeyRecord> {
  const { id } = before
  await transaction
    .updateTable('api_keys')
    .set({ revoked_at: isoNow(by.clock) })
    .where('id', '=', id)
    .execute()
  const after = await readKey(transaction, id)
  await recordChange(transaction, by, { action: 'key.revoke', target: id, before, after })
  return after
}

/** Locks a key for writing until the transaction ends. */
export async function lockKey(transaction: Database, id: string): Promise<void> {
  await transaction.selectFrom('api_keys').select('id').where('id', '=', id).forUpdate().execute()
}

async function readKey(db: Database, id: string): Promise<KeyRecord> {
  return present(await selectKeys(db).where('api_keys.id', '=', id).executeTakeFirstOrThrow())
}

function selectKeys(db: Database) {
  return db
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .selectAll('api_keys')
    .select('users.email as user_email')
    .where('api_keys.prefix', 'not like', tokenPrefixes)
}

function present({ hash, trust_id, source, ...row }: ApiKeyRow & { user_email: string }): KeyRecord {
  const { hourly_limit: limit, ...rest } = row
  return { ...rest, limit, permissions: row.permissions === null ? null : JSON.parse(row.permissions) }
}
