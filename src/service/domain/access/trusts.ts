import { isoNow } from '../../../system/clock.ts'
import type { Database, Store, TrustRow } from '../../store/tables.ts'
import { type AuditContext, recordChange } from '../audit.ts'
import { createId } from '../identifiers.ts'
import { selectEnabledUsers } from '../users.ts'
import { hashKey, insertKey, tokenPrefixes } from './keys.ts'
import type { Principal } from './permissions.ts'

/** A trust: identity tokens of an issuer for an audience and a subject are exchanged for access tokens. */
export interface TrustRecord extends Omit<TrustRow, 'permissions' | 'hourly_limit' | 'token_lifetime'> {
  /** The permissions of its access tokens, within those of its user. */
  permissions: string[]
  user_email: string
  /** Requests per hour; null for no limit. */
  limit: number | null
  /** Seconds until an access token expires. */
  expires_in: number
}

export type NewTrust = Omit<TrustRecord, 'id' | 'user_email' | 'created_at' | 'last_used_at'>

/** Must run inside a transaction. */
export async function storeTrust(
  transaction: Database,
  wanted: NewTrust,
  by: AuditContext,
): Promise<TrustRecord> {
  const { limit, expires_in, permissions, ...rest } = wanted
  const row: TrustRow = {
    ...rest,
    id: createId('tru'),
    permissions: JSON.stringify(permissions),
    hourly_limit: limit,
    token_lifetime: expires_in,
    created_at: isoNow(by.clock),
    last_used_at: null,
  }
  await transaction.insertInto('trusts').values(row).execute()
  const change = { action: 'trust.create', target: row.name, before: null, after: wanted } as const
  await recordChange(transaction, by, change)
  return present(await selectTrusts(transaction).where('trusts.id', '=', row.id).executeTakeFirstOrThrow())
}

/** Oldest first. */
export async function listTrusts(db: Database): Promise<TrustRecord[]> {
  return (await selectTrusts(db).orderBy('trusts.id').execute()).map(present)
}

/** The trusts in an issuer, which must be exactly the same text. Oldest first. */
export async function listTrustsIn(db: Database, issuer: string): Promise<TrustRecord[]> {
  const rows = await selectTrusts(db).where('trusts.issuer', '=', issuer).orderBy('trusts.id').execute()
  return rows.map(present)
}

export async function findTrust(db: Database, name: string): Promise<TrustRecord | undefined> {
  const row = await selectTrusts(db).where('trusts.name', '=', name).executeTakeFirst()
  return row && present(row)
}

/** Deletes a trust and its access tokens. Undefined for an unknown name. Must run inside a transaction. */
export async function deleteTrust(
  transaction: Database,
  name: string,
  by: AuditContext,
): Promise<TrustRecord | undefined> {
  await transaction.selectFrom('trusts').select('id').where('name', '=', name).forUpdate().execute()
  const before = await findTrust(transaction, name)
  if (!before) return undefined
  await transaction.deleteFrom('api_keys').where('trust_id', '=', before.id).execute()
  await transaction.deleteFrom('trusts').where('id', '=', before.id).execute()
  await recordChange(transaction, by, { action: 'trust.revoke', target: name, before, after: null })
  return before
}

/**
 * Stores a new access token, which acts as the user of its trust. Only its digest is stored.
 * @param permissions those of the trust, or fewer
 * @param subject the `sub` of the identity token, for the audit log
 * @returns undefined if the trust was revoked in the meantime, or its user is disabled
 */
export function issueToken(
  db: Database,
  trust: TrustRecord,
  permissions: string[],
  subject: string,
  by: AuditContext,
) {
  const now = isoNow(by.clock)
  const expiresAt = new Date(by.clock.now() + trust.expires_in * 1000).toISOString()
  return db.transaction().execute(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable('trusts')
      .set({ last_used_at: now })
      .where('id', '=', trust.id)
      .where('user_id', 'in', selectEnabledUsers(transaction).select('users.id'))
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return undefined
    const { id, name, user_id, tier, limit } = trust
    const granted = { permissions, expires_at: expiresAt }
    const attributes = { name, user_id, tier, hourly_limit: limit, trust_id: id, ...granted }
    const { key: token } = await insertKey(transaction, 'ct', attributes, by)
    const after = { issuer: trust.issuer, subject, ...granted }
    await recordChange(transaction, by, { action: 'trust.exchanged', target: name, before: null, after })
    return { token, expiresIn: trust.expires_in }
  })
}

/**
 * Stores a new access token with at most the permissions of another credential. It is counted and audited as that
 * credential, and valid only while that is.
 */
export function issueExchangedToken(
  db: Database,
  { keyId, userId, hourlyLimit, source }: Principal,
  granted: { permissions: string[]; expires_at: string },
  by: AuditContext,
): Promise<{ key: string }> {
  return db.transaction().execute(async (transaction) => {
    const change = { action: 'token.exchanged', target: keyId, before: null, after: granted } as const
    await recordChange(transaction, by, change)
    const counted = { name: keyId, user_id: userId, tier: 'enterprise', hourly_limit: hourlyLimit } as const
    return insertKey(transaction, 'ct', { ...counted, source, ...granted }, by)
  })
}

/**
 * Ends an access token of a trust, or an exchanged one. Does nothing for any other text, which anyone can send: on
 * PostgreSQL, even a DELETE of no row would notify all processes.
 */
export async function revokeToken(store: Pick<Store, 'db' | 'noteChange'>, token: string): Promise<void> {
  const { db } = store
  const row = await db
    .selectFrom('api_keys')
    .select('id')
    .where('hash', '=', hashKey(token))
    .where('prefix', 'like', tokenPrefixes)
    .executeTakeFirst()
  if (!row) return
  await db.deleteFrom('api_keys').where('id', '=', row.id).execute()
  store.noteChange()
}

function selectTrusts(db: Database) {
  return db
    .selectFrom('trusts')
    .innerJoin('users', 'users.id', 'trusts.user_id')
    .selectAll('trusts')
    .select('users.email as user_email')
}

function present(row: TrustRow & { user_email: string }): TrustRecord {
  const { hourly_limit: limit, token_lifetime: expires_in, ...rest } = row
  return { ...rest, permissions: JSON.parse(row.permissions), limit, expires_in }
}
