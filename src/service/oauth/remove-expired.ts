import type { Clock } from '../../system/clock.ts'
import type { Database } from '../store/tables.ts'

/** Minimum time between two removals of one process, in ms. */
const removeInterval = 10 * 60_000

/** How long a failed attempt counts, in ms. */
export const failureLifetime = 60 * 60_000

/** Returns a function that removes expired records at intervals. Until then, queries ignore them. */
export function createExpiredRemover(db: Database, clock: Clock): () => void {
  let next = 0
  return () => {
    const now = clock.now()
    if (now < next) return
    next = now + removeInterval
    // Nothing waits for the removal, and the next one makes up for a failure.
    void removeExpired(db, now).catch(() => {})
  }
}

async function removeExpired(db: Database, now: number): Promise<void> {
  await db
    .deleteFrom('oauth_records')
    .where('expires_at', '<=', Math.floor(now / 1000))
    .execute()
  await db
    .deleteFrom('api_keys')
    .where('trust_id', 'is not', null)
    .where('expires_at', '<=', new Date(now).toISOString())
    .execute()
  await db
    .deleteFrom('sign_in_failures')
    .where('last_failure_at', '<=', now - failureLifetime)
    .execute()
}
