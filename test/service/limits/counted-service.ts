import type { ReplySource } from '../../../src/service/replies/reply-source.ts'
import { createTestProgram } from '../../../src/service/replies/test-program.ts'
import type { SqliteStore } from '../../../src/service/store/sqlite/open-sqlite.ts'
import type { Tier } from '../../../src/service/store/tables.ts'
import type { Clock } from '../../../src/system/clock.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { plantKey } from '../domain/plant-key.ts'
import { withServer } from '../start-server.ts'
import { caller, type TemporaryService } from '../temporary-service.ts'

export interface CountedService {
  url: string
  store: SqliteStore
  /** Calls with a key of the tier free, which is counted. */
  call: TemporaryService['call']
  /** Calls with a key of the process, which is not counted. */
  admin: TemporaryService['call']
  /** Creates another key that is counted. */
  makeKey(tier: Tier, limit: number | null): Promise<{ id: string; key: string }>
  key: string
}

/** 11:59:30, half a minute before the end of an hour and of a minute. */
export const beforeNoon = Date.parse('2026-03-01T11:59:30Z')

/** Runs a service on an empty directory, with limits that follow the given clock. */
export async function withCountedService<T>(
  use: (service: CountedService) => Promise<T>,
  {
    clock = new SteppedClock(undefined, beforeNoon),
    replySource = createTestProgram(),
  }: { clock?: Clock; replySource?: ReplySource } = {},
): Promise<T> {
  return withServer({ replySource, clock }, async ({ url, store, call: admin }) => {
    const makeKey: CountedService['makeKey'] = (tier, limit) =>
      plantKey(store.db, { tier, hourly_limit: limit })
    const { key } = await makeKey('free', 100)
    return use({ url, store, call: caller(url, key), admin, makeKey, key })
  })
}

/** The value `r` of a window in the RateLimit header. */
export const remaining = (headers: Headers, window: 'hour' | 'minute'): number =>
  Number(new RegExp(`"${window}";r=(\\d+)`).exec(headers.get('ratelimit') ?? '')?.[1])
