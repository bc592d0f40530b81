import { setTimeout as wait } from 'node:timers/promises'
import type { Engine } from './temporary-service.ts'

/**
 * A change by another connection takes effect at the next request on SQLite, and within 2 s on PostgreSQL.
 * Until then the check may fail.
 */
export async function takesEffect(engine: Engine, check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + 2_000
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (engine === 'sqlite' || Date.now() > deadline) throw error
      await wait(20)
    }
  }
}
