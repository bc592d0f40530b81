import type { Database } from '../store/tables.ts'

/** Milliseconds between two looks of one process. */
const pause = 10 * 60_000

/** Milliseconds after which a failed sign-in is forgotten. */
export const failureMemory = 24 * 60 * 60_000

/** Removes what is past its end, now and then; what has not been removed yet is not found all the same. */
export function createSweeper(db: Database): () => void {
  let next = 0
  return () => {
    const now = Date.now()
    if (now < next) return
    next = now + pause
    // Nobody waits for it, and where it fails the next one does it.
    void sweep(db, now).catch(() => {})
  }
}

async function sweep(db: Database, now: number): Promise<void> {
  await db
    .deleteFrom('oauth_records')
    .where('expires_at', '<=', Math.floor(now / 1000))
    .execute()
  await db
    .deleteFrom('sign_in_failures')
    .where('last_failure_at', '<', now - failureMemory)
    .execute()
}
