import type { Clock } from '../../system/clock.ts'
import type { Database } from '../store/tables.ts'

/** Milliseconds between two looks of one process. */
const removeInterval = 10 * 60_000

/** Milliseconds after which a failed attempt is forgotten. */
export const failureLifetime = 60 * 60_000

/** Removes what has expired, now and then; what has not been removed yet is not found either. */
export function createExpiredRemover(db: Database, clock: Clock): () => void {
  let next = 0
  return () => {
    const now = clock.now()
    if (now < next) return
    next = now + removeInterval
    // Nobody waits for it, and where it fails the next one does it.
    void removeExpired(db, now).catch(() => {})
  }
}

async function removeExpired(db: Database, now: number): Promise<void> {
  await db
    .deleteFrom('oauth_records')
    .where('expires_at', '<=', Math.floor(now / 1000))
    .execute()
  await db
    .deleteFrom('sign_in_failures')
    .where('last_failure_at', '<=', now - failureLifetime)
    .execute()
}
