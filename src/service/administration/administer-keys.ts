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

/** What is done to API keys on the service's own machine. */
export interface KeyAdministration {
  /**
   * The key that would be made; nothing is.
   * @throws Failure `usage`, `not_found` for the user, `refused` for more than the user may
   */
  planKey(request: KeyRequest): Promise<NewKey>
  /** Makes the data when there is none. @throws as `planKey` */
  createKey(request: KeyRequest): Promise<CreatedKey>
  /** What would be changed of a key; nothing is. @throws as `updateKey` */
  planKeyChange(id: string, change: KeyChange): Promise<Partial<NewKey>>
  /**
   * Holds in a running service from the next request on.
   * @throws Failure `not_found`, `conflict` for a revoked key, and as `planKey`
   */
  updateKey(id: string, change: KeyChange): Promise<KeyRecord>
  /** Oldest first, revoked ones included. */
  listKeys(): Promise<KeyRecord[]>
  /** @throws Failure `not_found` */
  findKey(id: string): Promise<KeyRecord>
  /** A running service refuses the key from its next request on. @throws Failure `not_found` */
  revokeKey(id: string): Promise<KeyRecord>
}

export function administerKeys({
  clock,
  open,
  openExisting,
  reportingFailures,
}: DataAccess): KeyAdministration {
  /** Where there is no data, there is no key. */
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
interface KeyChange {
  name?: string | undefined
  tier?: Tier | undefined
  limit?: number | undefined
  /** Null for all that its user may. */
  permissions?: readonly string[] | null | undefined
  /** Null for never. */
  expiresAt?: string | null | undefined
}

/** The key in full, which is shown this once. */
type CreatedKey = Omit<KeyRecord, 'prefix' | 'last_used_at' | 'revoked_at'> & { key: string }

/**
 * The key that a request asks for; nothing is changed.
 *
 * @param db undefined where there is no data yet
 * @throws Failure `usage`, `not_found` for the user, `refused` for more than the user may
 */
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

/** @param planned as `planKey` makes it */
async function createKey(db: Database, planned: NewKey, by: AuditContext): Promise<CreatedKey> {
  const { prefix: _, last_used_at, revoked_at, ...created } = await storeKey(db, planned, by)
  return created
}

/**
 * What a change would make of a key; nothing is changed.
 * @throws Failure `not_found`, `conflict` for a revoked key, and as `planKey`
 */
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

/** @throws as `planKeyChange` */
function updateKey(db: Database, id: string, wanted: KeyChange, by: AuditContext): Promise<KeyRecord> {
  return db.transaction().execute(async (transaction) => {
    await lockKey(transaction, id)
    const { key, change } = await planKeyChange(transaction, id, wanted, by.clock)
    return changeKey(transaction, key, change, by)
  })
}

export const unknownKey = (id: string): Failure =>
  new Failure('not_found', `No API key ${id}`, { advice: [{ code: 'list_keys' }] })
