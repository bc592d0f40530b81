import { generateKey, hashKey } from '../../../src/service/domain/access/keys.ts'
import { createServer } from '../../../src/service/http/create-server.ts'
import { openSqlite, type SqliteStore } from '../../../src/service/store/sqlite/open-sqlite.ts'
import type { Tier } from '../../../src/service/store/tables.ts'
import { createOffline } from '../../../src/service/upstream/offline.ts'
import type { Upstream } from '../../../src/service/upstream/upstream.ts'
import type { Clock } from '../../../src/system/clock.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { plantKey } from '../plant-key.ts'
import { caller, type TemporaryService, withFolder } from '../temporary-service.ts'

export interface CountedService {
  url: string
  store: SqliteStore
  /** With a key of tier free, which is counted. */
  call: TemporaryService['call']
  /** With a key of the process, which is not. */
  admin: TemporaryService['call']
  /** A new key that is counted. */
  makeKey(tier: Tier, limit: number | null): Promise<{ id: string; key: string }>
  key: string
}

/** 11:59:30: an hour and a minute end in half a minute. */
export const beforeNoon = Date.parse('2026-03-01T11:59:30Z')

/** A service on an empty folder whose limits go by the clock given. */
export async function withCountedService<T>(
  use: (service: CountedService) => Promise<T>,
  {
    clock = new SteppedClock(undefined, beforeNoon),
    upstream = createOffline(),
  }: { clock?: Clock; upstream?: Upstream } = {},
): Promise<T> {
  return withFolder(async (folder) => {
    const store = openSqlite(folder)
    const processKey = generateKey()
    const server = createServer({
      store,
      dataDir: folder,
      upstream,
      processKeys: new Set([hashKey(processKey)]),
      stopping: new AbortController().signal,
      logger: undefined,
      clock,
    })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    const makeKey: CountedService['makeKey'] = (tier, limit) =>
      plantKey(store.db, { tier, hourly_limit: limit })
    const { key } = await makeKey('free', 100)
    try {
      return await use({ url, store, call: caller(url, key), admin: caller(url, processKey), makeKey, key })
    } finally {
      await server.close()
      await store.close()
    }
  })
}

/** The `r` of a window in the header RateLimit. */
export const remaining = (headers: Headers, window: 'hour' | 'minute'): number =>
  Number(new RegExp(`"${window}";r=(\\d+)`).exec(headers.get('ratelimit') ?? '')?.[1])
