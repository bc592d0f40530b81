import { resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { fetchText } from '../../system/network/fetch-text.ts'
import { tokenPrefixes } from '../domain/access/keys.ts'
import { localAuditContext } from '../domain/audit.ts'
import { findOtherServices, findRunningServices, type RunRecord } from '../run-record.ts'
import { migrations } from '../store/migrations.ts'
import { type DataLocation, describeDatabase, openExistingStore } from '../store/open-store.ts'
import { type Backup, backUp, checkBackup, type Restored, restore } from '../store/sqlite/back-up.ts'
import type { Database } from '../store/tables.ts'
import { administerAccounts, administerSessions } from './administer-accounts.ts'
import { administerKeys } from './administer-keys.ts'
import { administerTrusts } from './administer-trusts.ts'
import { administerUsers } from './administer-users.ts'
import { DataAccess } from './data-access.ts'
import { offboardUsers } from './offboard-users.ts'
import { readAuditLog } from './read-audit-log.ts'

interface RunningStatus extends RunRecord {
  /** `ready`, the `error.code` of the reason that it is not, or `unknown`. */
  health: string
  /** Whole seconds; null if the start time is unknown. */
  uptime_seconds: number | null
}

interface ServiceStatus {
  /** The data directory. */
  data: string
  /** The database: a file, or `postgres://host:port/name`. */
  database: string
  /** 0 if there is no data yet. */
  schema_version: number
  users: number
  conversations: number
  messages: number
  /** Keys that are not revoked. */
  keys: number
  running: RunningStatus | null
  /** The URLs of other services on this machine with the same data. */
  also_running: string[]
}

/** Manages the data of a service on its machine, whether the service runs or not. */
export type Administration = Awaited<ReturnType<typeof openAdministration>>

/** In ms. To count a large table takes longer than a request may take. */
const statementTimeout = 60_000

/**
 * Only `createKey`, `createTrust`, `createAdmin`, and `restore` create a database.
 * @param isDryRun whether each change is rolled back
 * @param user the system user, for the audit log
 * @throws Failure `storage`
 */
export async function openAdministration(at: DataLocation, clock = systemClock, isDryRun = false, user = '') {
  const directory = resolve(at.dataDir)
  const where = { ...at, dataDir: directory, statementTimeout }
  const location = await describeDatabase(where)
  const data = new DataAccess(where, location, localAuditContext(clock, user), isDryRun)
  return {
    ...administerKeys(data),
    ...administerAccounts(data),
    ...administerSessions(data),
    ...administerTrusts(data),
    ...administerUsers(data),
    ...offboardUsers(data, () => findRunningServices(directory, location)),
    ...readAuditLog(data),
    ...administerBackups(at, directory, location, clock),
    ...describeServices(data, directory, location, clock),
    /**
     * Migrates older data. A dry run rolls it back.
     * @param always also while other processes use it
     * @throws Failure `not_found` without data; `conflict` for data in use
     */
    async migrate(always: boolean) {
      const migration = isDryRun ? 'rehearsal' : always ? 'always' : 'unused'
      const began = clock.monotonic()
      const store = await openExistingStore({ ...where, migration })
      if (!store) throw new Failure('not_found', `No data in ${location} yet`)
      const milliseconds = Math.ceil(clock.monotonic() - began)
      await store.close()
      const { migrated, backup = null } = store
      const none = { from: migrations.length, to: migrations.length, bytes_before: null, bytes_after: null }
      return { database: location, ...none, ...migrated, milliseconds, backup }
    },
    /** The database: a file, or `postgres://host:port/name`. */
    place: location,
    /** The location of the database if it does not exist yet, otherwise undefined. */
    findMissingDatabase: () => data.read<string | undefined>(async () => undefined, location),
    close: () => data.close(),
  }
}

function describeServices(data: DataAccess, directory: string, location: string, clock: Clock) {
  return {
    async status(): Promise<ServiceStatus> {
      const counts = await data.read(count, noCounts)
      const [first, ...others] = await findRunningServices(directory, location)
      const running = first ? await describeRun(first, clock) : null
      const also_running = others.map(({ url }) => url)
      return { data: directory, database: location, ...counts, running, also_running }
    },
    /** A service that runs on this data and is ready. @throws Failure `unreachable` if there is none */
    async findReady(): Promise<RunningStatus> {
      const running = await findRunningServices(directory, location)
      const described = await Promise.all(running.map((run) => describeRun(run, clock)))
      const ready = described.find(({ health }) => health === 'ready')
      if (ready) return ready
      const [first] = described
      if (first) throw new Failure('unreachable', `The service at ${first.url} is not ready: ${first.health}`)
      const [other] = await findOtherServices(directory, location)
      throw new Failure('unreachable', `No service runs on ${location}`, {
        advice: [other ? { code: 'check_other_service', ...other } : { code: 'start_service' }],
      })
    },
    /** See `findOtherServices`. */
    findOtherServices: () => findOtherServices(directory, location),
  }
}

function administerBackups({ database }: DataLocation, directory: string, location: string, clock: Clock) {
  const requireSqlite = () => {
    if (database === undefined) return
    throw new Failure('usage', 'The data is in PostgreSQL: use the backup tools of PostgreSQL', {
      advice: [{ code: 'back_up_postgres' }],
    })
  }
  const requireStopped = async () => {
    const running = await findRunningServices(directory, location)
    if (running.length === 0) return
    const urls = running.map(({ url }) => url).join(' and ')
    throw new Failure('conflict', `A service is running on this data at ${urls}`, {
      advice: [{ code: 'end_services', processIds: running.map(({ pid }) => pid) }],
    })
  }
  return {
    /**
     * Copies the data to a new file, also while a service runs.
     * @param replaces whether it replaces an existing file
     * @throws Failure `usage` for PostgreSQL, which has its own tools; as `store/sqlite/back-up.ts`
     */
    async backUp(file: string, replaces = false): Promise<Backup> {
      requireSqlite()
      return backUp(directory, file, replaces)
    },
    /**
     * Returns what `restore` would do, and does nothing.
     * @throws as `backUp`; Failure `refused` for a file that does not exist, `storage` for one that is not a backup, `conflict` while a service runs
     */
    async planRestore(file: string): Promise<{ restore: string; replace: string }> {
      requireSqlite()
      checkBackup(file)
      await requireStopped()
      return { restore: resolve(file), replace: location }
    },
    /** Replaces the data with a backup. @throws as `planRestore` */
    async restore(file: string): Promise<Restored> {
      requireSqlite()
      await requireStopped()
      return restore(directory, file, clock)
    },
  }
}

type Counts = Omit<ServiceStatus, 'data' | 'database' | 'running' | 'also_running'>

async function describeRun(record: RunRecord, clock: Clock): Promise<RunningStatus> {
  const { url, admin_url, started_at } = record
  const began = Date.parse(started_at ?? '')
  const uptime = Number.isNaN(began) ? null : Math.max(0, Math.floor((clock.now() - began) / 1000))
  return { ...record, health: await fetchHealth(admin_url ?? url), uptime_seconds: uptime }
}

const noCounts: Counts = { schema_version: 0, users: 0, conversations: 0, messages: 0, keys: 0 }

/** One query of Kysely's builder, which reads while another process writes. */
async function count(db: Database): Promise<Counts> {
  const counts = await db
    .selectNoFrom(({ selectFrom, fn }) => [
      selectFrom('migrations')
        .select((eb) => eb.fn.max('number').as('newest'))
        .as('schema_version'),
      selectFrom('users').select(fn.countAll<number>().as('n')).as('users'),
      selectFrom('contexts').select(fn.countAll<number>().as('n')).as('conversations'),
      selectFrom('messages').select(fn.countAll<number>().as('n')).as('messages'),
      selectFrom('api_keys')
        .select(fn.countAll<number>().as('n'))
        .where('revoked_at', 'is', null)
        .where('prefix', 'not like', tokenPrefixes)
        .as('keys'),
    ])
    .$castTo<Counts>()
    .executeTakeFirst()
  return counts ?? noCounts
}

/** In ms. A service checks its database before it responds. */
const healthTimeout = 3_000

/**
 * The health of a service on this machine: `ready`, or the `error.code` of its response; `unknown` for any
 * other response.
 * @param origin of the service or of its admin port
 */
async function fetchHealth(origin: string): Promise<string> {
  try {
    // Sends nothing secret, and the certificate may be for another host name.
    const bounds = { timeout: healthTimeout, maxSize: 10, trustsAny: true }
    const { status, text } = await fetchText(new URL('/readyz', origin), bounds)
    if (status === 200) return 'ready'
    const { error } = JSON.parse(text)
    if (status === 503 && typeof error?.code === 'string') return error.code
  } catch {
    // Another program listens there.
  }
  return 'unknown'
}
