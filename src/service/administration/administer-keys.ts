import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import {
  checkExpiry,
  checkGrantable,
  checkKeyName,
  checkKnownPermissions,
  resolveHourlyLimit,
} from '../domain/access/check-key.ts'
import {
  changeKey,
  findKey,
  type KeyRecord,
  listKeys,
  lockKey,
  type NewKey,
  revokeKey,
  storeKey,
} from '../domain/access/keys.ts'
import { adminId, userPermissions } from '../domain/access/permissions.ts'
import { type AuditContext, localAuditContext } from '../domain/audit.ts'
import type { Database, Tier } from '../store/tables.ts'
import type { DataAccess } from './data-access.ts'
import { requireUser } from './find-user.ts'

/** Manages API keys on the machine of the service. */
export interface KeyAdministration {
  /**
   * Returns the key that `createKey` would create, and creates nothing.
   * @throws Failure `usage`, `not_found` for the user, `refused` for a permission that the user does not have
   */
  planKey(request: KeyRequest): Promise<NewKey>
  /** Creates the database if there is none yet. @throws as `planKey` */
  createKey(request: KeyRequest): Promise<CreatedKey>
  /** Returns what `updateKey` would change, and changes nothing. @throws as `updateKey` */
  planKeyChange(id: string, change: KeyChange): Promise<Partial<NewKey>>
  /**
   * A running service applies the change from the next request on.
   * @throws Failure `not_found`, `conflict` for a revoked key, and as `planKey`
   */
  updateKey(id: string, change: KeyChange): Promise<KeyRecord>
  /** Oldest first, revoked ones included. */
  listKeys(): Promise<KeyRecord[]>
  /** @throws Failure `not_found` */
  findKey(id: string): Promise<KeyRecord>
  /** A running service refuses the key from the next request on. @throws Failure `not_found` */
  revokeKey(id: string): Promise<KeyRecord>
}

export function administerKeys({
  clock,
  open,
  openExisting,
  reportingFailures,
}: DataAccess): KeyAdministration {
  /** Without data, every key is unknown. */
  const withKey = <T>(id: string, work: (db: Database) => Promise<T | undefined>): Promise<T> =>
    reportingFailures(async () => {
      const store = await openExisting()
      const done = store && (await work(store.db))
      if (done === undefined) throw unknownKey(id)
      return done
    })

  return {
    planKey: (request) => reportingFailures(async () => planKey((await openExisting())?.db, request, clock)),
    createKey: (request) =>
      reportingFailures(async () => {
        const planned = await planKey((await openExisting())?.db, request, clock)
        return createKey((await open()).db, planned, localAuditContext(clock))
      }),
    planKeyChange: (id, change) =>
      withKey(id, async (db) => (await planKeyChange(db, id, change, clock)).change),
    updateKey: (id, change) => withKey(id, (db) => updateKey(db, id, change, localAuditContext(clock))),
    listKeys: () =>
      reportingFailures(async () => {
        const store = await openExisting()
        return store ? listKeys(store.db) : []
      }),
    findKey: (id) => withKey(id, (db) => findKey(db, id)),
    revokeKey: (id) => withKey(id, (db) => revokeKey(db, id, localAuditContext(clock))),
  }
}

interface KeyRequest {
  name: string
  tier: Tier
  /** Requests per hour, only for tier enterprise. Default: no limit. */
  limit?: number | undefined
  /** Id or email. Default: the built-in admin. */
  user?: string | undefined
  /** Default: all permissions of the user. */
  permissions?: readonly string[] | undefined
  /** ISO 8601. Default: never. */
  expiresAt?: string | undefined
}

/** A field that is omitted does not change. */
interface KeyChange {
  name?: string | undefined
  tier?: Tier | undefined
  limit?: number | undefined
  /** Null for all permissions of the user. */
  permissions?: readonly string[] | null | undefined
  /** Null for never. */
  expiresAt?: string | null | undefined
}

/** The only output that contains the key itself. */
type CreatedKey = Omit<KeyRecord, 'prefix' | 'last_used_at' | 'revoked_at'> & { key: string }

/** @param db undefined if there is no data yet */
async function planKey(db: Database | undefined, request: KeyRequest, clock: Clock): Promise<NewKey> {
  const { name, tier, user = adminId, permissions, expiresAt } = request
  checkKeyName(name)
  const limit = resolveHourlyLimit(tier, request.limit)
  if (permissions) checkKnownPermissions(permissions)
  if (expiresAt !== undefined) checkExpiry(expiresAt, clock.now())
  const person = await requireUser(db, user)
  if (permissions)
    checkGrantable(permissions, userPermissions(person.id, person.role, person.permissions), person.email)
  return {
    name,
    tier,
    limit,
    user_id: person.id,
    permissions: permissions ? [...new Set(permissions)] : null,
    expires_at: expiresAt ?? null,
  }
}

async function createKey(db: Database, planned: NewKey, by: AuditContext): Promise<CreatedKey> {
  const { prefix: _, last_used_at, revoked_at, ...created } = await storeKey(db, planned, by)
  return created
}

async function planKeyChange(
  db: Database,
  id: string,
  { name, tier, limit, permissions, expiresAt }: KeyChange,
  clock: Clock,
): Promise<{ key: KeyRecord; change: Partial<Omit<NewKey, 'user_id'>> }> {
  if (name !== undefined) checkKeyName(name)
  if (permissions) checkKnownPermissions(permissions)
  if (typeof expiresAt === 'string') checkExpiry(expiresAt, clock.now())
  const key = await findKey(db, id)
  if (!key) throw unknownKey(id)
  if (key.revoked_at !== null) {
    throw new Failure('conflict', `The API key ${id} is revoked and cannot be changed`, {
      advice: [{ code: 'create_key' }],
    })
  }
  if (permissions) {
    const person = await requireUser(db, key.user_id)
    checkGrantable(permissions, userPermissions(person.id, person.role, person.permissions), person.email)
  }
  const isOtherTier = tier !== undefined && tier !== key.tier
  const change = {
    ...(name !== undefined && { name }),
    ...(isOtherTier && { tier }),
    ...((isOtherTier || limit !== undefined) && { limit: resolveHourlyLimit(tier ?? key.tier, limit) }),
    ...(permissions !== undefined && { permissions: permissions && [...new Set(permissions)] }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  }
  return { key, change }
}

function updateKey(db: Database, id: string, wanted: KeyChange, by: AuditContext): Promise<KeyRecord> {
  return db.transaction().execute(async (transaction) => {
    await lockKey(transaction, id)
    const { key, change } = await planKeyChange(transaction, id, wanted, by.clock)
    return changeKey(transaction, key, change, by)
  })
}

export const unknownKey = (id: string): Failure =>
  new Failure('not_found', `No API key ${id}`, { advice: [{ code: 'list_keys' }] })
