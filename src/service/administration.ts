import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { Failure } from '../failure.ts'
import { administerSessions, type SessionAdministration } from './administer-sessions.ts'
import { type KeyRecord, listKeys, revokeKey, storeKey, tierLimits } from './domain/keys.ts'
import { findRun, type RunRecord } from './run-record.ts'
import { databaseFile, openSqlite } from './store/sqlite/open-sqlite.ts'
import { storageFailure } from './store/storage-failure.ts'
import type { Store } from './store/store.ts'
import type { Tier } from './store/tables.ts'

interface KeyRequest {
  name: string
  tier: Tier
  /** Requests per hour, for enterprise alone; none when not given. */
  limit?: number | undefined
}

/** The key in full, which is shown this once. */
type CreatedKey = Pick<KeyRecord, 'id' | 'name' | 'tier' | 'limit' | 'created_at'> & { key: string }

interface ServiceStatus {
  /** The data folder. */
  data: string
  /** 0 when there is no data yet. */
  schema_version: number
  users: number
  contexts: number
  messages: number
  /** Keys that are not revoked. */
  keys: number
  running: RunRecord | null
}

/** What is done to a data folder on its own machine, whether a service runs on it or not. */
export interface Administration {
  /** @throws Failure `usage` for a name or a limit that does not fit, before anything is made */
  checkKey(request: KeyRequest): void
  /** Makes the data when there is none. @throws as `checkKey` */
  createKey(request: KeyRequest): Promise<CreatedKey>
  /** Oldest first, revoked ones included. */
  listKeys(): Promise<KeyRecord[]>
  /** @throws Failure `not_found` */
  findKey(id: string): Promise<KeyRecord>
  /** A running service refuses the key from its next request on. @throws Failure `not_found` */
  revokeKey(id: string): Promise<KeyRecord>
  status(): Promise<ServiceStatus>
  /** Sign-ins through the browser. */
  sessions: SessionAdministration
  close(): Promise<void>
}

/** Only creating a key makes data; looking at a folder leaves it as it is. @throws Failure `storage` */
export async function openAdministration(dataDir: string): Promise<Administration> {
  const folder = resolve(dataDir)
  let opened: Store | undefined
  const open = () => {
    opened ??= openSqlite(folder)
    return opened
  }
  const openExisting = () => (opened || mayExist(databaseFile(folder)) ? open() : undefined)

  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw storageFailure(error, folder, databaseFile(folder))
    }
  }

  const findKey = async (id: string): Promise<KeyRecord> => {
    const store = openExisting()
    const key = store && (await listKeys(store.db)).find((known) => known.id === id)
    if (key) return key
    throw new Failure('not_found', `There is no API key ${id}`, { hint: 'chatctl service keys list' })
  }

  const sessions = administerSessions(openExisting)

  return {
    checkKey: (request) => {
      checked(request)
    },
    createKey: (request) =>
      guarded(async () => {
        const { id, name, tier, limit, key, created_at } = await storeKey(open().db, checked(request))
        return { id, name, tier, limit, key, created_at }
      }),
    listKeys: () =>
      guarded(async () => {
        const store = openExisting()
        return store ? listKeys(store.db) : []
      }),
    findKey: (id) => guarded(() => findKey(id)),
    revokeKey: (id) =>
      guarded(async () => {
        await findKey(id)
        return (await revokeKey(open().db, id)) ?? findKey(id)
      }),
    status: () =>
      guarded(async () => {
        const store = openExisting()
        const counts = store ? await count(store) : nothing
        return { data: folder, ...counts, running: await findRun(folder) }
      }),
    sessions: {
      listSessions: () => guarded(() => sessions.listSessions()),
      findSession: (id) => guarded(() => sessions.findSession(id)),
      revokeSession: (id) => guarded(() => sessions.revokeSession(id)),
    },
    async close() {
      await opened?.close()
      opened = undefined
    },
  }
}

const nothing = { schema_version: 0, users: 0, contexts: 0, messages: 0, keys: 0 }

/** Whatever is wrong with a folder but that nothing is there, opening it says best. */
function mayExist(file: string): boolean {
  try {
    statSync(file)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

function checked({ name, tier, limit }: KeyRequest): { name: string; tier: Tier; limit: number | null } {
  if (name.trim() === '' || [...name].length > 200) {
    throw new Failure('usage', 'The name of a key must have 1 to 200 characters')
  }
  if (tier !== 'enterprise') {
    if (limit === undefined) return { name, tier, limit: tierLimits[tier] }
    throw new Failure('usage', `The limit of tier ${tier} is ${tierLimits[tier]} requests per hour`, {
      hint: 'Only tier enterprise takes a limit of its own',
    })
  }
  if (limit === undefined) return { name, tier, limit: null }
  if (Number.isSafeInteger(limit) && limit > 0) return { name, tier, limit }
  throw new Failure('usage', 'A limit must be a whole number of requests per hour, 1 or more')
}

async function count({ db }: Store): Promise<Omit<ServiceStatus, 'data' | 'running'>> {
  const { rows } = await sql<Omit<ServiceStatus, 'data' | 'running'>>`
    select (select max(number) from migrations) as schema_version,
      (select count(*) from users) as users,
      (select count(*) from contexts) as contexts,
      (select count(*) from messages) as messages,
      (select count(*) from api_keys where revoked_at is null) as keys`.execute(db)
  return { ...nothing, ...rows[0] }
}
