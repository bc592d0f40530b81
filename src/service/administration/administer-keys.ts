import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import {
  checkExpiry,
  checkGrantable,
  checkKeyName,
  checkKnownPermissions,
  maxNameLength,
  resolveHourlyLimit,
} from '../domain/access/check-key.ts'
import {
  changeKey,
  findKey,
  type KeyRecord,
  listKeys,
  lockKey,
  type NewKey,
  replaceKey,
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
  planKeyChange(name: string, change: KeyChange): Promise<Partial<NewKey>>
  /**
   * A running service applies the change from the next request on.
   * @throws as `findKey`; Failure `conflict` for a revoked key, and as `planKey`
   */
  updateKey(name: string, change: KeyChange): Promise<KeyRecord>
  /** Returns what `rotateKey` would do, and changes nothing. @throws as `rotateKey` */
  planRotation(name: string, rotation: Rotation): Promise<PlannedRotation>
  /**
   * Replaces a key with a new one that has the same name, user, tier, limit, and permissions. A running service
   * applies both changes from the next request on.
   *
   * @throws as `findKey`; Failure `conflict` for a key that is not valid
   */
  rotateKey(name: string, rotation: Rotation): Promise<RotatedKey>
  /** Oldest first, revoked ones included. */
  listKeys(): Promise<KeyRecord[]>
  /**
   * @param name ID of a key, or name of a valid key
   * @throws Failure `not_found`, `usage` for a name of several valid keys
   */
  findKey(name: string): Promise<KeyRecord>
  /** A running service refuses the key from the next request on. @throws as `findKey` */
  revokeKey(name: string): Promise<KeyRecord>
}

export function administerKeys({
  clock,
  open,
  openExisting,
  reportingFailures,
}: DataAccess): KeyAdministration {
  /** Without data, every key is unknown. */
  const withKey = <T>(name: string, work: (db: Database) => Promise<T>): Promise<T> =>
    reportingFailures(async () => {
      const store = await openExisting()
      if (!store) throw unknownKey(name)
      return work(store.db)
    })

  return {
    planKey: (request) => reportingFailures(async () => planKey((await openExisting())?.db, request, clock)),
    createKey: (request) =>
      reportingFailures(async () => {
        const planned = await planKey((await openExisting())?.db, request, clock)
        return createKey((await open()).db, planned, localAuditContext(clock))
      }),
    planKeyChange: (name, change) =>
      withKey(name, async (db) => (await planKeyChange(db, name, change, clock)).change),
    updateKey: (name, change) => withKey(name, (db) => updateKey(db, name, change, localAuditContext(clock))),
    planRotation: (name, rotation) => withKey(name, (db) => planRotation(db, name, rotation, clock)),
    rotateKey: (name, rotation) =>
      withKey(name, (db) => rotateKey(db, name, rotation, localAuditContext(clock))),
    listKeys: () =>
      reportingFailures(async () => {
        const store = await openExisting()
        return store ? listKeys(store.db) : []
      }),
    findKey: (name) => withKey(name, (db) => requireKey(db, name, clock)),
    revokeKey: (name) =>
      withKey(name, async (db) =>
        revokeKey(db, (await requireKey(db, name, clock)).id, localAuditContext(clock)),
      ),
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

interface Rotation {
  /** How long the old key stays valid, in ms. With 0, it is revoked. */
  overlap: number
  /** Of the new key. Null for never. Default: the lifetime of the old key. */
  expiresAt?: string | null | undefined
}

interface PlannedRotation {
  old: KeyRecord
  wanted: NewKey
  /** Undefined if it is revoked. */
  ending: Pick<NewKey, 'name' | 'expires_at'> | undefined
}

type RotatedKey = CreatedKey & { replaces: Pick<KeyRecord, 'id' | 'name' | 'expires_at' | 'revoked_at'> }

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
  return presentCreated(await storeKey(db, planned, by))
}

function presentCreated(stored: KeyRecord & { key: string }): CreatedKey {
  const { prefix: _, last_used_at, revoked_at, ...created } = stored
  return created
}

async function planKeyChange(
  db: Database,
  idOrName: string,
  { name, tier, limit, permissions, expiresAt }: KeyChange,
  clock: Clock,
): Promise<{ key: KeyRecord; change: Partial<Omit<NewKey, 'user_id'>> }> {
  if (name !== undefined) checkKeyName(name)
  if (permissions) checkKnownPermissions(permissions)
  if (typeof expiresAt === 'string') checkExpiry(expiresAt, clock.now())
  const key = await requireKey(db, idOrName, clock)
  if (key.revoked_at !== null) {
    throw new Failure('conflict', `The API key ${key.id} is revoked and cannot be changed`, {
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

function updateKey(db: Database, name: string, wanted: KeyChange, by: AuditContext): Promise<KeyRecord> {
  return db.transaction().execute(async (transaction) => {
    const { id } = await requireKey(transaction, name, by.clock)
    await lockKey(transaction, id)
    const { key, change } = await planKeyChange(transaction, id, wanted, by.clock)
    return changeKey(transaction, key, change, by)
  })
}

async function planRotation(
  db: Database,
  idOrName: string,
  { overlap, expiresAt }: Rotation,
  clock: Clock,
): Promise<PlannedRotation> {
  const now = clock.now()
  if (typeof expiresAt === 'string') checkExpiry(expiresAt, now)
  const old = await requireKey(db, idOrName, clock)
  if (!isValid(old, now)) {
    const why = old.revoked_at === null ? 'has expired' : 'is revoked'
    throw new Failure('conflict', `The API key ${old.id} ${why} and cannot be rotated`, {
      advice: [{ code: 'create_key' }],
    })
  }
  const { name, tier, limit, user_id, permissions, expires_at: end, created_at } = old
  const lifetime = end === null ? null : Date.parse(end) - Date.parse(created_at)
  const standard = lifetime === null ? null : dateAfter(now, lifetime)
  const expires_at = expiresAt === undefined ? standard : expiresAt
  const overlapEnd = dateAfter(now, overlap)
  const ending = {
    name: `${[...name].slice(0, maxNameLength - rotated.length).join('')}${rotated}`,
    expires_at: end !== null && end < overlapEnd ? end : overlapEnd,
  }
  const wanted = { name, tier, limit, user_id, permissions, expires_at }
  return { old, wanted, ending: overlap > 0 ? ending : undefined }
}

/** A lifetime beyond the range of dates is limited to it. */
function dateAfter(now: number, ms: number): string {
  return new Date(Math.min(now + ms, Date.UTC(9999, 0))).toISOString()
}

/** The end of the name of a key that was replaced, so that the new key alone has its name. */
const rotated = ' (rotated)'

function rotateKey(db: Database, name: string, rotation: Rotation, by: AuditContext): Promise<RotatedKey> {
  return db.transaction().execute(async (transaction) => {
    const { id } = await requireKey(transaction, name, by.clock)
    await lockKey(transaction, id)
    const { old, wanted, ending } = await planRotation(transaction, id, rotation, by.clock)
    const { created, replaced } = await replaceKey(transaction, old, wanted, ending, by)
    const { name: oldName, expires_at, revoked_at } = replaced
    return { ...presentCreated(created), replaces: { id, name: oldName, expires_at, revoked_at } }
  })
}

async function requireKey(db: Database, idOrName: string, clock: Clock): Promise<KeyRecord> {
  const byId = await findKey(db, idOrName)
  if (byId) return byId
  const isMeant = (key: KeyRecord) => key.name === idOrName && isValid(key, clock.now())
  const found = (await listKeys(db)).filter(isMeant)
  const [key, ...others] = found
  if (!key) throw unknownKey(idOrName)
  if (others.length === 0) return key
  throw new Failure('usage', `${found.length} valid API keys have the name ${JSON.stringify(idOrName)}`, {
    hint: `Name one of them by its ID: ${found.map(({ id }) => id).join(', ')}`,
  })
}

const isValid = ({ revoked_at, expires_at }: KeyRecord, now: number): boolean =>
  revoked_at === null && (expires_at === null || Date.parse(expires_at) > now)

export const unknownKey = (name: string, words = 'No valid API key has the ID or name'): Failure =>
  new Failure('not_found', `${words} ${JSON.stringify(name)}`, { advice: [{ code: 'list_keys' }] })
