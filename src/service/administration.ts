import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { Failure } from '../failure.ts'
import { askHealth } from './ask-health.ts'
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

type Counts = Omit<ServiceStatus, 'data' | 'database' | 'running'>

interface RunningStatus extends RunRecord {
  /** `ready`, the `error.code` for which it is not, or `unknown`. */
  health: string
  /** Whole seconds; null where nobody wrote down when it began. */
  uptime: number | null
}

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
  /** A file, or host and name; null when there is no data yet. */
  database: string | null
  running: RunningStatus | null
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
        return { data: folder, ...counts, database: store?.place ?? null, running: await findRunning(folder) }
      }),
    async close() {
      await opened?.close()
      opened = undefined
    },
  }
}

const nothing = { schema_version: 0, users: 0, contexts: 0, messages: 0, keys: 0 }

async function findRunning(folder: string): Promise<RunningStatus | null> {
  const record = await findRun(folder)
  if (!record) return null
  const { url, admin_url, started_at } = record
  const began = Date.parse(started_at ?? '')
  const uptime = Number.isNaN(began) ? null : Math.max(0, Math.floor((Date.now() - began) / 1000))
  return { ...record, health: await askHealth(admin_url ?? url), uptime }
}

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

async function count({ db }: Store): Promise<Counts> {
  const { rows } = await sql<Counts>`
    select (select max(number) from migrations) as schema_version,
      (select count(*) from users) as users,
      (select count(*) from contexts) as contexts,
      (select count(*) from messages) as messages,
      (select count(*) from api_keys where revoked_at is null) as keys`.execute(db)
  return { ...nothing, ...rows[0] }
}
