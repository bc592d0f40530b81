import type { Clock } from '../../../system/clock.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Store } from '../../store/store.ts'
import type { Database } from '../../store/tables.ts'
import { carriedByAll, includes, rightsOfUser } from './permissions.ts'

/** The callers of keys in the database, as they are at this moment. */
export interface Callers {
  /**
   * @param digest of the key, as `hashKey` makes it
   * @returns undefined for a key that is unknown, revoked or past its end
   */
  find(digest: string): Promise<Caller | undefined>
  /** Waits for what is still being written of the use of keys. */
  close(): Promise<void>
}

interface Known {
  caller: Caller
  /** When the key ends, in Unix ms; Infinity for never. */
  expiresAt: number
  /** When its use was last noted in the database, in Unix ms. */
  notedAt: number
}

/** Keys that are remembered: unknown ones are not among them, so that nobody can fill this up. */
const mostKnown = 1_000

/** `last_used_at` is kept to the minute: a write for every request would cost more than it tells. */
const noteEvery = 60_000

const selectKey = prepareQuery((db, { hash }: { hash: string }) =>
  db
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
    .where('api_keys.hash', '=', hash)
    .where('api_keys.revoked_at', 'is', null),
)

/**
 * Remembers whom a key acts as for as long as nothing has changed in the database that could make
 * it another answer.
 */
export function createCallers(store: Store, clock: Clock): Callers {
  const known = new Map<string, Known>()
  /** When this process last noted the use of a key, by its id: the note itself makes `known` outdated. */
  const noted = new Map<string, number>()
  const writing = new Set<Promise<void>>()
  let generation = Number.NaN

  return {
    async find(digest) {
      const current = store.generation()
      if (current !== generation) {
        known.clear()
        generation = current
      }
      let found = known.get(digest)
      if (!found) {
        found = await readKey(store.db, digest)
        if (!found) return undefined
        // What was read may be older than a change that came meanwhile.
        if (store.generation() === current && generation === current) {
          if (known.size >= mostKnown) known.clear()
          known.set(digest, found)
        }
      }
      const time = clock.now()
      if (found.expiresAt <= time) return undefined
      const { keyId } = found.caller
      if (time - Math.max(found.notedAt, noted.get(keyId) ?? 0) >= noteEvery) {
        if (noted.size >= mostKnown) noted.clear()
        noted.set(keyId, time)
        const written = noteUse(store.db, keyId, time).finally(() => writing.delete(written))
        writing.add(written)
      }
      return found.caller
    },
    async close() {
      await Promise.all(writing)
    },
  }
}

async function readKey(db: Database, digest: string): Promise<Known | undefined> {
  const [row] = await selectKey(db, { hash: digest })
  if (!row) return undefined
  const ofUser = rightsOfUser(row.user_id, row.role, JSON.parse(row.user_permissions))
  const ofKey: string[] =
    row.key_permissions === null ? ['*:*'] : [carriedByAll, ...JSON.parse(row.key_permissions)]
  return {
    caller: {
      keyId: row.id,
      userId: row.user_id,
      may: (permission) => includes(ofUser, permission) && includes(ofKey, permission),
      lacks: (permission) =>
        includes(ofUser, permission)
          ? 'the API key does not have it'
          : 'the user of the API key does not have it',
      hourlyLimit: row.hourly_limit,
      isCounted: true,
    },
    expiresAt: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    notedAt: row.last_used_at === null ? Number.NEGATIVE_INFINITY : Date.parse(row.last_used_at),
  }
}

async function noteUse(db: Database, id: string, time: number): Promise<void> {
  try {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: new Date(time).toISOString() })
      .where('id', '=', id)
      .execute()
  } catch {
    // A full disk must not keep anybody from reading.
  }
}

/** Whom a request acts as, and within which bounds. */
export interface Caller {
  /** What is counted, logged and audited: a key's id, `oauth:<user id>` for a token, or `process`. */
  keyId: string
  userId: string
  /** Whether the user and the credential both carry it, or all of it where it is a pattern (`read:*`). */
  may(permission: string): boolean
  /** Why it may not, to go on from "which": `the user of this key lacks`. */
  lacks(permission: string): string
  /** Requests per clock hour; null for no limit. */
  hourlyLimit: number | null
  /** A key that lives only in this process is held back by no limit, and nothing counts its requests. */
  isCounted: boolean
}
