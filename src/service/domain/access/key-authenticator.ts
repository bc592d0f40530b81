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

/** By the digest of a key. It may have expired. */
export const selectKey = prepareQuery((db, { hash, now }: { hash: string; now: number }) =>
  db
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .leftJoin('api_keys as source', 'source.id', 'api_keys.source')
    .leftJoin('oauth_records as grant', (join) =>
      join
        .onRef('grant.id_hash', '=', 'api_keys.source')
        .on('grant.model', '=', 'Grant')
        .on('grant.expires_at', '>', now),
    )
    .select(['api_keys.id', 'api_keys.name', 'api_keys.user_id', 'api_keys.trust_id', 'api_keys.source'])
    .select(['api_keys.hourly_limit', 'api_keys.last_used_at', 'api_keys.expires_at'])
    .select(['users.role', 'source.id as source_id', 'source.hourly_limit as source_limit'])
    .select(['source.expires_at as source_expires_at', 'source.permissions as source_permissions'])
    .select(['api_keys.permissions as key_permissions', 'users.permissions as user_permissions'])
    .where('api_keys.hash', '=', hash)
    .where('api_keys.revoked_at', 'is', null)
    .where('users.disabled_at', 'is', null)
    .where('source.revoked_at', 'is', null)
    .where((eb) =>
      eb('api_keys.source', 'is not distinct from', eb.fn.coalesce('source.id', 'grant.id_hash')),
    ),
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
    const found = await readKey(this.#store.db, hashKey(key), Math.floor(this.#clock.now() / 1000))
    if (!found) return undefined
    // The row may be older than a change that was made in the meantime.
    // `Store.generation` does not cover the sign-in that an exchanged token depends on.
    const isExchanged = found.principal.source === null
    if (!isExchanged && this.#store.generation() === current && this.#generation === current) {
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

async function readKey(db: Database, digest: string, now: number): Promise<CachedKey | undefined> {
  const [row] = await selectKey(db, { hash: digest, now })
  if (!row) return undefined
  const ofUser = userPermissions(row.user_id, row.role, JSON.parse(row.user_permissions))
  const ofKey = parsePermissions(row.key_permissions)
  const ofSource = parsePermissions(row.source_permissions)
  const kind = (row.source ?? row.trust_id) === null ? 'API key' : 'access token'
  const ownId = row.trust_id === null ? row.id : `trust:${row.name}`
  const keyId = row.source === null ? ownId : row.name
  const lastUse = row.last_used_at === null ? -Infinity : Date.parse(row.last_used_at)
  const [expiresAt = null] = [row.expires_at, row.source_expires_at].flatMap((end) => end ?? []).sort()
  return {
    principal: {
      keyId,
      userId: row.user_id,
      can: (permission) => [ofUser, ofKey, ofSource].every((granted) => covers(granted, permission)),
      denialReason: (permission) =>
        `the ${covers(ofUser, permission) ? '' : 'user of the '}${kind} does not have it`,
      hourlyLimit: row.source_id === null ? row.hourly_limit : row.source_limit,
      expiresAt,
      source: row.source === null ? row.id : null,
      isRateLimited: true,
    },
    expiresAt: expiresAt === null ? Infinity : Date.parse(expiresAt),
    // Only the use of an API key is recorded. Anything else counts as always in use.
    usedAt: keyId === row.id || keyId === row.source_id ? lastUse : Infinity,
  }
}

const parsePermissions = (stored: string | null): string[] =>
  stored === null ? ['*:*'] : [alwaysGranted, ...JSON.parse(stored)]

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
