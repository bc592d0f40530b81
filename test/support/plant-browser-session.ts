import { createAdapters } from '../../src/service/oauth/adapter.ts'
import { listSessions } from '../../src/service/oauth/browser/sign-in-sessions.ts'
import { openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../src/system/clock.ts'

/** Creates a sign-in session of the built-in admin without a browser. @returns the public ID of the session */
export async function plantBrowserSession(dataDirectory: string): Promise<string> {
  const store = openSqlite(dataDirectory)
  const uid = crypto.randomUUID()
  const payload = { accountId: 'usr_admin', uid, loginTs: Math.floor(Date.now() / 1000) }
  await createAdapters(store.db, systemClock)('Session').upsert(crypto.randomUUID(), payload, 3600)
  const id = (await listSessions(store.db, systemClock)).at(-1)?.id ?? ''
  await store.close()
  return id
}
