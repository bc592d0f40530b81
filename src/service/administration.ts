import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { Failure } from '../failure.ts'
import { type AdminAccount, checkNewAdmin, createAdmin, findAdmin, resetAdmin } from './admin-accounts.ts'
import { type AuditEntry, type AuditFilter, listChanges, onMachine } from './domain/audit.ts'
import { findKey, type KeyRecord, listKeys, type NewKey, revokeKey } from './domain/keys.ts'
import { findPerson } from './find-person.ts'
import {
  type CreatedKey,
  createKey,
  type KeyChange,
  type KeyRequest,
  planKey,
  planKeyChange,
  unknownKey,
  updateKey,
} from './key-administration.ts'
import { findRun, type RunRecord } from './run-record.ts'
import { databaseFile, openSqlite } from './store/sqlite/open-sqlite.ts'
import { storageFailure } from './store/storage-failure.ts'
import type { Store } from './store/store.ts'
import type { Database } from './store/tables.ts'

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
  /**
   * The key that would be made; nothing is.
   * @throws Failure `usage`, `not_found` for the user, `refused` for more than the user may
   */
  planKey(request: KeyRequest): Promise<NewKey>
  /** Makes the data when there is none. @throws as `planKey` */
  createKey(request: KeyRequest): Promise<CreatedKey>
  /** What would be changed of a key; nothing is. @throws as `updateKey` */
  planKeyChange(id: string, change: KeyChange): Promise<Partial<NewKey>>
  /**
   * Holds in a running service from the next request on.
   * @throws Failure `not_found`, `conflict` for a revoked key, and as `planKey`
   */
  updateKey(id: string, change: KeyChange): Promise<KeyRecord>
  /** Oldest first, revoked ones included. */
  listKeys(): Promise<KeyRecord[]>
  /** @throws Failure `not_found` */
  findKey(id: string): Promise<KeyRecord>
  /** A running service refuses the key from its next request on. @throws Failure `not_found` */
  revokeKey(id: string): Promise<KeyRecord>
  /** @throws Failure `refused` for what no user may have, `conflict` where the email is taken */
  checkAdmin(wanted: { email: string; name: string }): Promise<void>
  /** Makes the data when there is none. @throws as `checkAdmin` */
  createAdmin(wanted: { email: string; name: string; password: string }): Promise<AdminAccount>
  /** @throws Failure `not_found`, `conflict` for a user who is no admin */
  findAdmin(email: string): Promise<AdminAccount>
  /** A new password, without second factor and sign-ins. @throws as `findAdmin`, `refused` for the password */
  resetAdmin(email: string, password: string): Promise<AdminAccount>
  /** Administrative changes, oldest first; actor and target may be an email. @throws Failure `not_found` for one */
  listChanges(filter: AuditFilter): Promise<AuditEntry[]>
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

  const existing = (): Database => {
    const store = openExisting()
    if (store) return store.db
    throw new Failure('not_found', `There is no data in ${folder} yet`)
  }
  const findExistingKey = async (id: string): Promise<KeyRecord> => {
    const store = openExisting()
    const key = store && (await findKey(store.db, id))
    if (key) return key
    throw unknownKey(id)
  }
  const idOf = async (name: string | undefined): Promise<string | undefined> =>
    name?.includes('@') ? (await findPerson(existing(), name)).id : name

  return {
    planKey: (request) => guarded(() => planKey(openExisting()?.db, request)),
    createKey: (request) =>
      guarded(async () => {
        const planned = await planKey(openExisting()?.db, request)
        return createKey(open().db, planned)
      }),
    planKeyChange: (id, change) =>
      guarded(async () => {
        await findExistingKey(id)
        return (await planKeyChange(existing(), id, change)).change
      }),
    updateKey: (id, change) =>
      guarded(async () => {
        await findExistingKey(id)
        return updateKey(existing(), id, change)
      }),
    listKeys: () =>
      guarded(async () => {
        const store = openExisting()
        return store ? listKeys(store.db) : []
      }),
    findKey: (id) => guarded(() => findExistingKey(id)),
    revokeKey: (id) =>
      guarded(async () => {
        await findExistingKey(id)
        return (await revokeKey(existing(), id, onMachine)) ?? findExistingKey(id)
      }),
    checkAdmin: (wanted) => guarded(() => checkNewAdmin(openExisting()?.db, wanted)),
    createAdmin: (wanted) =>
      guarded(async () => {
        await checkNewAdmin(openExisting()?.db, wanted)
        return createAdmin(open().db, wanted)
      }),
    findAdmin: (email) => guarded(() => findAdmin(openExisting()?.db, email)),
    resetAdmin: (email, password) =>
      guarded(async () => {
        await findAdmin(openExisting()?.db, email)
        return resetAdmin(existing(), email, password)
      }),
    listChanges: (filter) =>
      guarded(async () => {
        const store = openExisting()
        if (!store) return []
        const [actor, target] = [await idOf(filter.actor), await idOf(filter.target)]
        return listChanges(store.db, { ...filter, actor, target })
      }),
    status: () =>
      guarded(async () => {
        const store = openExisting()
        const counts = store ? await count(store) : nothing
        return { data: folder, ...counts, running: await findRun(folder) }
      }),
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

async function count({ db }: Store): Promise<Omit<ServiceStatus, 'data' | 'running'>> {
  const { rows } = await sql<Omit<ServiceStatus, 'data' | 'running'>>`
    select (select max(number) from migrations) as schema_version,
      (select count(*) from users) as users,
      (select count(*) from contexts) as contexts,
      (select count(*) from messages) as messages,
      (select count(*) from api_keys where revoked_at is null) as keys`.execute(db)
  return { ...nothing, ...rows[0] }
}
