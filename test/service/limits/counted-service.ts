import type { SqliteStore } from '../../../src/service/store/sqlite/open-sqlite.ts'
import type { Tier } from '../../../src/service/store/tables.ts'
import { createOffline } from '../../../src/service/upstream/offline.ts'
import type { Upstream } from '../../../src/service/upstream/upstream.ts'
import type { Clock } from '../../../src/system/clock.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { plantKey } from '../plant-key.ts'
import { withServer } from '../start-server.ts'
import { caller, type TemporaryService } from '../temporary-service.ts'

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
  return withServer({ upstream, clock }, async ({ url, store, call: admin }) => {
    const makeKey: CountedService['makeKey'] = (tier, limit) =>
      plantKey(store.db, { tier, hourly_limit: limit })
    const { key } = await makeKey('free', 100)
    return use({ url, store, call: caller(url, key), admin, makeKey, key })
  })
}

/** The `r` of a window in the header RateLimit. */
export const remaining = (headers: Headers, window: 'hour' | 'minute'): number =>
  Number(new RegExp(`"${window}";r=(\\d+)`).exec(headers.get('ratelimit') ?? '')?.[1])
