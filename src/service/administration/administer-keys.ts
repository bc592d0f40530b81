import { Failure } from '../../contract/failure.ts'
import { type Clock, isoAfter } from '../../system/clock.ts'
import {
  checkExpiry,
  checkKeyName,
  checkKnownPermissions,
  maxNameLength,
  resolveHourlyLimit,
} from '../domain/access/check-requests.ts'
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
import { adminId } from '../domain/access/permissions.ts'
import type { Database, Tier } from '../store/tables.ts'
import { requireHolder } from './administer-accounts.ts'
import type { DataAccess } from './data-access.ts'

/** Manages API keys on the machine of the service. Service processes apply each change from the next request on. */
export function administerKeys(data: DataAccess) {
  const { clock, by } = data
  return {
    /**
     * Creates the database if there is none yet.
     * @throws Failure `usage`, `not_found` for the user, `refused` for a permission that the user does not have
     */
    createKey: (request: KeyRequest): Promise<CreatedKey> =>
      data.create(async (db) => presentCreated(await storeKey(db, await resolveKey(db, request, clock), by))),
    /** @throws as `findKey`; Failure `conflict` for a revoked key, and as `createKey` */
    updateKey: (name: string, wanted: KeyChange): Promise<KeyRecord> =>
      data.change(async (db) => {
        const key = await requireLockedKey(db, name, clock)
        return changeKey(db, key, await resolveChange(db, key, wanted, clock), by)
      }, unknownKey(name)),
    /**
     * Replaces a key with a new one that has the same name, user, tier, limit, and permissions.
     * @throws as `findKey`; Failure `conflict` for a key that is not valid
     */
    rotateKey: (name: string, rotation: Rotation): Promise<RotatedKey> =>
      data.change(async (db) => {
        const old = await requireLockedKey(db, name, clock)
        const { wanted, ending } = resolveRotation(old, rotation, clock.now())
        const { created, replaced } = await replaceKey(db, old, wanted, ending, by)
        const { id, name: oldName, expires_at, revoked_at } = replaced
        return { ...presentCreated(created), replaces: { id, name: oldName, expires_at, revoked_at } }
      }, unknownKey(name)),
    /** Oldest first, revoked ones included. */
    listKeys: (): Promise<KeyRecord[]> => data.read(listKeys, []),
    /**
     * @param name ID of a key, or name of a valid key
     * @throws Failure `not_found`, `usage` for a name of several valid keys
     */
    findKey: (name: string): Promise<KeyRecord> =>
      data.read((db) => requireKey(db, name, clock), unknownKey(name)),
    /** @throws as `findKey` */
    revokeKey: (name: string): Promise<KeyRecord> =>
      data.change(async (db) => revokeKey(db, (await requireKey(db, name, clock)).id, by), unknownKey(name)),
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

type RotatedKey = CreatedKey & { replaces: Pick<KeyRecord, 'id' | 'name' | 'expires_at' | 'revoked_at'> }

/** The only output that contains the key itself. */
type CreatedKey = Omit<KeyRecord, 'prefix' | 'last_used_at' | 'revoked_at'> & { key: string }

async function resolveKey(db: Database, request: KeyRequest, clock: Clock): Promise<NewKey> {
  const { name, tier, user = adminId, permissions, expiresAt } = request
  checkKeyName(name)
  const limit = resolveHourlyLimit(tier, request.limit)
  if (permissions) checkKnownPermissions(permissions)
  if (expiresAt !== undefined) checkExpiry(expiresAt, clock.now())
  return {
    name,
    tier,
    limit,
    user_id: await requireHolder(db, user, permissions ?? []),
    permissions: permissions ? [...new Set(permissions)] : null,
    expires_at: expiresAt ?? null,
  }
}

function presentCreated(stored: KeyRecord & { key: string }): CreatedKey {
  const { prefix: _, last_used_at, revoked_at, ...created } = stored
  return created
}

async function resolveChange(
  db: Database,
  key: KeyRecord,
  { name, tier, limit, permissions, expiresAt }: KeyChange,
  clock: Clock,
): Promise<Partial<Omit<NewKey, 'user_id'>>> {
  if (name !== undefined) checkKeyName(name)
  if (permissions) checkKnownPermissions(permissions)
  if (typeof expiresAt === 'string') checkExpiry(expiresAt, clock.now())
  if (key.revoked_at !== null) {
    throw new Failure('conflict', `The API key ${key.id} is revoked and cannot be changed`, {
      advice: [{ code: 'create_key' }],
    })
  }
  if (permissions) await requireHolder(db, key.user_id, permissions)
  const isOtherTier = tier !== undefined && tier !== key.tier
  return {
    ...(name !== undefined && { name }),
    ...(isOtherTier && { tier }),
    ...((isOtherTier || limit !== undefined) && { limit: resolveHourlyLimit(tier ?? key.tier, limit) }),
    ...(permissions !== undefined && { permissions: permissions && [...new Set(permissions)] }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  }
}

/** @returns `ending` is undefined if the old key is revoked */
function resolveRotation(old: KeyRecord, { overlap, expiresAt }: Rotation, now: number) {
  if (typeof expiresAt === 'string') checkExpiry(expiresAt, now)
  if (!isValid(old, now)) {
    const why = old.revoked_at === null ? 'has expired' : 'is revoked'
    throw new Failure('conflict', `The API key ${old.id} ${why} and cannot be rotated`, {
      advice: [{ code: 'create_key' }],
    })
  }
  const { name, tier, limit, user_id, permissions, expires_at: end, created_at } = old
  const lifetime = end === null ? null : Date.parse(end) - Date.parse(created_at)
  const standard = lifetime === null ? null : isoAfter(now, lifetime)
  const expires_at = expiresAt === undefined ? standard : expiresAt
  const overlapEnd = isoAfter(now, overlap)
  const ending = {
    name: `${[...name].slice(0, maxNameLength - rotated.length).join('')}${rotated}`,
    expires_at: end !== null && end < overlapEnd ? end : overlapEnd,
  }
  const wanted = { name, tier, limit, user_id, permissions, expires_at }
  return { wanted, ending: overlap > 0 ? ending : undefined }
}

/** The end of the name of a key that was replaced, so that the new key alone has its name. */
const rotated = ' (rotated)'

/** As `requireKey`. No other transaction changes the key before the end of this one. */
async function requireLockedKey(db: Database, idOrName: string, clock: Clock): Promise<KeyRecord> {
  const { id } = await requireKey(db, idOrName, clock)
  await lockKey(db, id)
  return requireKey(db, id, clock)
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

export const isValid = ({ revoked_at, expires_at }: KeyRecord, now: number): boolean =>
  revoked_at === null && (expires_at === null || Date.parse(expires_at) > now)

const unknownKey = (name: string): Failure =>
  new Failure('not_found', `No valid API key has the ID or name ${JSON.stringify(name)}`, {
    advice: [{ code: 'list_keys' }],
  })
