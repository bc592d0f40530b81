import { resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { findOtherServices, findRunningServices, type OtherService, type RunRecord } from '../run-record.ts'
import { type DataLocation, describeDatabase } from '../store/open-store.ts'
import { type Backup, backUp, checkBackup, type Restored, restore } from '../store/sqlite/back-up.ts'
import type { Store } from '../store/store.ts'
import { type AccountAdministration, administerAccounts } from './administer-accounts.ts'
import { administerKeys, type KeyAdministration } from './administer-keys.ts'
import { administerSessions, type SessionAdministration } from './administer-sessions.ts'
import { administerTrusts, type TrustAdministration } from './administer-trusts.ts'
import { accessData } from './data-access.ts'
import { type AuditAdministration, readAuditLog } from './read-audit-log.ts'

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
  contexts: number
  messages: number
  /** Keys that are not revoked. */
  keys: number
  running: RunningStatus | null
  /** The URLs of other services on this machine with the same data. */
  also_running: string[]
}

/** Manages the data of a service on its machine, whether the service runs or not. */
export interface Administration
  extends KeyAdministration,
    AccountAdministration,
    SessionAdministration,
    TrustAdministration,
    AuditAdministration {
  status(): Promise<ServiceStatus>
  /**
   * A service that runs on this data and is ready.
   * @param isNamed whether the user named the data; then only services on the directory count
   * @throws Failure `unreachable` if there is none
   */
  findReady(isNamed: boolean): Promise<RunningStatus>
  /** The database: a file, or `postgres://host:port/name`. */
  readonly place: string
  /** See `findOtherServices`. */
  findOtherServices(isNamed: boolean): Promise<OtherService[]>
  /** The location of the database if it does not exist yet, otherwise undefined. */
  findMissingDatabase(): Promise<string | undefined>
  /**
   * Copies the data to a new file, also while a service runs.
   * @param replaces whether it replaces an existing file
   * @throws Failure `usage` for PostgreSQL, which has its own tools; as `store/sqlite/back-up.ts`
   */
  backUp(file: string, replaces?: boolean): Promise<Backup>
  /**
   * Returns what `restore` would do, and does nothing.
   * @throws as `backUp`; Failure `refused` for a file that does not exist, `storage` for one that is not a backup, `conflict` while a service runs
   */
  planRestore(file: string): Promise<{ restore: string; replace: string }>
  /** Replaces the data with a backup. @throws as `planRestore` */
  restore(file: string): Promise<Restored>
  close(): Promise<void>
}

/** In ms. To count a large table takes longer than a request may take. */
const statementTimeout = 60_000

/** Only `createKey`, `createTrust`, `createAdmin`, and `restore` create a database. @throws Failure `storage` */
export async function openAdministration(
  given: DataLocation,
  clock: Clock = systemClock,
): Promise<Administration> {
  const directory = resolve(given.dataDir)
  const where = { ...given, dataDir: directory, statementTimeout }
  const location = await describeDatabase(where)
  const data = accessData(where, location, clock)
  const { openExisting, reportingFailures } = data

  const requireStopped = async () => {
    const running = await findRunningServices(directory, location)
    if (running.length === 0) return
    const urls = running.map(({ url }) => url).join(' and ')
    throw new Failure('conflict', `A service is running on this data at ${urls}`, {
      advice: [{ code: 'end_services', processIds: running.map(({ pid }) => pid) }],
    })
  }

  return {
    ...administerKeys(data),
    ...administerAccounts(data),
    ...administerSessions(data),
    ...administerTrusts(data),
    ...readAuditLog(data),
    status: () =>
      reportingFailures(async () => {
        const store = await openExisting()
        const counts = store ? await count(store) : noCounts
        const [first, ...others] = await findRunningServices(directory, location)
        const running = first ? await describeRun(first, clock) : null
        return {
          data: directory,
          database: location,
          ...counts,
          running,
          also_running: others.map(({ url }) => url),
        }
      }),
    async findReady(isNamed) {
      const running = await findRunningServices(directory, location)
      const described = await Promise.all(running.map((run) => describeRun(run, clock)))
      const ready = described.find(({ health }) => health === 'ready')
      if (ready) return ready
      const [first] = described
      if (first) throw new Failure('unreachable', `The service at ${first.url} is not ready: ${first.health}`)
      const [other] = await findOtherServices(directory, location, isNamed)
      throw new Failure('unreachable', `No service runs on ${location}`, {
        advice: [other ? { code: 'check_other_service', ...other } : { code: 'start_service' }],
      })
    },
    place: location,
    findOtherServices: (isNamed) => findOtherServices(directory, location, isNamed),
    findMissingDatabase: () => reportingFailures(async () => ((await openExisting()) ? undefined : location)),
    backUp: (file, replaces = false) => {
      requireSqlite(given)
      return backUp(directory, file, replaces)
    },
    async planRestore(file) {
      requireSqlite(given)
      checkBackup(file)
      await requireStopped()
      return { restore: resolve(file), replace: location }
    },
    async restore(file) {
      requireSqlite(given)
      await requireStopped()
      return restore(directory, file, clock)
    },
    close: () => data.close(),
  }
}

type Counts = Omit<ServiceStatus, 'data' | 'database' | 'running' | 'also_running'>

async function describeRun(record: RunRecord, clock: Clock): Promise<RunningStatus> {
  const { url, admin_url, started_at } = record
  const began = Date.parse(started_at ?? '')
  const uptime = Number.isNaN(began) ? null : Math.max(0, Math.floor((clock.now() - began) / 1000))
  return { ...record, health: await fetchHealth(admin_url ?? url), uptime_seconds: uptime }
}

const noCounts: Counts = { schema_version: 0, users: 0, contexts: 0, messages: 0, keys: 0 }

async function count({ db }: Store): Promise<Counts> {
  const counts = await db
    .selectNoFrom((of) => [
      of
        .selectFrom('migrations')
        .select(({ fn }) => fn.max('number').as('n'))
        .as('schema_version'),
      of
        .selectFrom('users')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .as('users'),
      of
        .selectFrom('contexts')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .as('contexts'),
      of
        .selectFrom('messages')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .as('messages'),
      of
        .selectFrom('api_keys')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .where('revoked_at', 'is', null)
        .where('trust_id', 'is', null)
        .as('keys'),
    ])
    .executeTakeFirstOrThrow()
  return { ...noCounts, ...(counts as Counts) }
}

function requireSqlite({ database }: DataLocation): void {
  if (database === undefined) return
  throw new Failure('usage', 'The data is in PostgreSQL: use the backup tools of PostgreSQL', {
    advice: [{ code: 'back_up_postgres' }],
  })
}

/** In ms. A service checks its database before it responds. */
const healthTimeout = 3_000

/**
 * The health of a service on this machine: `ready`, or the `error.code` of its response; `unknown` for any
 * other response.
 * @param origin of the service or of its admin port
 */
function fetchHealth(origin: string): Promise<string> {
  const url = new URL('/readyz', origin)
  // Sends nothing secret, and the certificate may be for another host name.
  const request =
    url.protocol === 'https:'
      ? process.getBuiltinModule('node:https').get(url, { rejectUnauthorized: false, agent: false })
      : process.getBuiltinModule('node:http').get(url, { agent: false })
  return new Promise((resolve) => {
    const settle = (health: string) => {
      resolve(health)
      request.destroy()
    }
    request.setTimeout(healthTimeout, () => settle('unknown'))
    request.on('error', () => settle('unknown'))
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', () => settle('unknown'))
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > 10_000) settle('unknown')
      })
      response.on('end', () => settle(readHealth(response.statusCode, text)))
    })
  })
}

function readHealth(status: number | undefined, text: string): string {
  if (status === 200) return 'ready'
  try {
    const { error } = JSON.parse(text)
    if (status === 503 && typeof error?.code === 'string') return error.code
  } catch {
    // Another program listens there.
  }
  return 'unknown'
}
