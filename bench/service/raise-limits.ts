import { localAuditContext } from '../../src/service/domain/audit.ts'
import { updateSettings } from '../../src/service/domain/settings.ts'
import { openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../src/system/clock.ts'

/** A benchmark sends more requests per minute than the default rate limit allows. */
export async function raiseLimits(directory: string): Promise<void> {
  const store = openSqlite(directory)
  const limits = { max_requests_per_min: 1_000_000_000 }
  await updateSettings(store.db, { limits }, localAuditContext(systemClock))
  await store.close()
}
