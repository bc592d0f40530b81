import type { Clock } from '../../../system/clock.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Database, Store } from '../../store/tables.ts'
import { hashKey } from './keys.ts'
import { alwaysGranted, covers, type Principal, userPermissions } from './permissions.ts'

interface CachedKey {
  principal: Principal
  /** Unix ms; Infinity for never. */
  expiresAt: number
  /** The time of the last use in the database, in Unix ms. */
  usedAt: number
}

/** Unknown keys are not cached, so requests without a valid key cannot fill the cache. */
const maxCachedKeys = 1_000

/** In ms. `last_used_at` is written at most once a minute, because a write for each request would cost too much. */
const usageInterval = 60_000

const selectKey = prepareQuery((db, { hash }: { hash: string }) =>
  db
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .select([
      'api_keys.id',
      'api_keys.name',
      'api_keys.trust_id',
      'api_keys.user_id',
      'api_keys.last_used_at',
      'api_keys.hourly_limit',
      'api_keys.permissions as key_permissions',
      'api_keys.expires_at',
      'users.role',
      'users.permissions as user_permissions',
    ])
    .where('api_keys.hash', '=', hash)
    .where('api_keys.revoked_at', 'is', null),
)

/** Finds the principals of API keys. Caches them until a change in the database could affect them. */
export class KeyAuthenticator {
  readonly #store: Store
  readonly #clock: Clock
  // By the key itself, because a digest costs more than everything else. A map compares hashes with a random
  // seed first, so the time of a comparison reveals nothing about a key.
  readonly #cached = new Map<string, CachedKey>()
  /** When this process last wrote the use of a key, by its id. The write itself clears `#cached`. */
  readonly #usageRecorded = new Map<string, number>()
  readonly #writing = new Set<Promise<void>>()
  #generation = Number.NaN

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** @returns undefined for an unknown, revoked, or expired key; immediately for a key that is cached */
  find(key: string): Principal | undefined | Promise<Principal | undefined> {
    const current = this.#store.generation()
    if (current !== this.#generation) {
      this.#cached.clear()
      this.#generation = current
    }
    const known = this.#cached.get(key)
    return known ? this.#use(known) : this.#findStored(key, current)
  }

  /** Waits until the last use of each key is written. */
  async close(): Promise<void> {
    await Promise.all(this.#writing)
  }

  async #findStored(key: string, current: number): Promise<Principal | undefined> {
    const found = await readKey(this.#store.db, hashKey(key))
    if (!found) return undefined
    // The row may be older than a change that was made in the meantime.
    if (this.#store.generation() === current && this.#generation === current) {
      if (this.#cached.size >= maxCachedKeys) this.#cached.clear()
      this.#cached.set(key, found)
    }
    return this.#use(found)
  }

  #use({ principal, expiresAt, usedAt }: CachedKey): Principal | undefined {
    const time = this.#clock.now()
    if (expiresAt <= time) return undefined
    const { keyId } = principal
    if (time - Math.max(usedAt, this.#usageRecorded.get(keyId) ?? 0) >= usageInterval) {
      if (this.#usageRecorded.size >= maxCachedKeys) this.#usageRecorded.clear()
      this.#usageRecorded.set(keyId, time)
      const written = recordUsage(this.#store.db, keyId, time).finally(() => this.#writing.delete(written))
      this.#writing.add(written)
    }
    return principal
  }
}

async function readKey(db: Database, digest: string): Promise<CachedKey | undefined> {
  const [row] = await selectKey(db, { hash: digest })
  if (!row) return undefined
  const ofUser = userPermissions(row.user_id, row.role, JSON.parse(row.user_permissions))
  const ofKey: string[] =
    row.key_permissions === null ? ['*:*'] : [alwaysGranted, ...JSON.parse(row.key_permissions)]
  const isOfTrust = row.trust_id !== null
  return {
    principal: {
      keyId: isOfTrust ? `trust:${row.name}` : row.id,
      userId: row.user_id,
      can: (permission) => covers(ofUser, permission) && covers(ofKey, permission),
      denialReason: (permission) =>
        covers(ofUser, permission)
          ? `the ${isOfTrust ? 'access token' : 'API key'} does not have it`
          : `the user of the ${isOfTrust ? 'access token' : 'API key'} does not have it`,
      hourlyLimit: row.hourly_limit,
      expiresAt: row.expires_at,
      isRateLimited: true,
    },
    expiresAt: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    usedAt: lastUse(row),
  }
}

/** The use of an access token is not recorded, so it counts as always in use. */
function lastUse(row: { trust_id: string | null; last_used_at: string | null }): number {
  if (row.trust_id !== null) return Number.POSITIVE_INFINITY
  return row.last_used_at === null ? Number.NEGATIVE_INFINITY : Date.parse(row.last_used_at)
}

async function recordUsage(db: Database, id: string, time: number): Promise<void> {
  try {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: new Date(time).toISOString() })
      .where('id', '=', id)
      .execute()
  } catch {
    // A full disk must not prevent reading.
  }
}
