import { resolve } from 'node:path'
import { sql } from 'kysely'
import { Failure } from '../../contract/failure.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { findOtherServices, findRunningServices, type OtherService, type RunRecord } from '../run-record.ts'
import { type DataLocation, describeDatabase } from '../store/open-store.ts'
import { type Backup, backUp, checkBackup, type Restored, restore } from '../store/sqlite/back-up.ts'
import type { Store } from '../store/store.ts'
import { type AccountAdministration, administerAccounts } from './administer-accounts.ts'
import { administerKeys, type KeyAdministration } from './administer-keys.ts'
import { administerSessions, type SessionAdministration } from './administer-sessions.ts'
import { accessData } from './data-access.ts'
import { type AuditAdministration, readAuditLog } from './read-audit-log.ts'

interface RunningStatus extends RunRecord {
  /** `ready`, the `error.code` for which it is not, or `unknown`. */
  health: string
  /** Whole seconds; null where nobody wrote down when it began. */
  uptime_seconds: number | null
}

interface ServiceStatus {
  /** The data folder. */
  data: string
  /** The database: a file, or `postgres://host:port/name`. */
  database: string
  /** 0 when there is no data yet. */
  schema_version: number
  users: number
  contexts: number
  messages: number
  /** Keys that are not revoked. */
  keys: number
  running: RunningStatus | null
  /** The URLs of others that share the data, on this machine. */
  also_running: string[]
}

/** What is done to a data folder on its own machine, whether a service runs on it or not. */
export interface Administration
  extends KeyAdministration,
    AccountAdministration,
    SessionAdministration,
    AuditAdministration {
  status(): Promise<ServiceStatus>
  /** The database: a file, or `postgres://host:port/name`. */
  readonly place: string
  /** Services of this user on other databases, as `findOtherRuns`. */
  findOthers(isNamed: boolean): Promise<OtherService[]>
  /** Where data would lie, if there is none yet. */
  findNothing(): Promise<string | undefined>
  /**
   * Copies the data to a new file, also while a service runs.
   * @throws Failure `usage` for PostgreSQL, which has its own ways; as `store/sqlite/back-up.ts`
   */
  backUp(file: string): Promise<Backup>
  /**
   * What `restore` would do; nothing is done.
   * @throws as `backUp`; Failure `refused` for a file that does not exist, `storage` for one that is no backup, `conflict` while a service runs
   */
  planRestore(file: string): Promise<{ restore: string; replace: string }>
  /** Puts a backup in the place of the data. @throws as `planRestore` */
  restore(file: string): Promise<Restored>
  close(): Promise<void>
}

/** Counting a large table takes longer than any request may, in ms. */
const statementTimeout = 60_000

/** Making a key or an admin makes data, and so does a restore; looking at a place leaves it as it is. @throws Failure `storage` */
export async function openAdministration(
  given: DataLocation,
  clock: Clock = systemClock,
): Promise<Administration> {
  const directory = resolve(given.dataDir)
  const where = { ...given, dataDir: directory, statementTimeout }
  const location = await describeDatabase(where)
  const data = accessData(where, location, clock)
  const { openExisting, reportingFailures } = data

  const demandStopped = async () => {
    const running = await findRunningServices(directory, location)
    if (running.length === 0) return
    const urls = running.map(({ url }) => url).join(' and ')
    throw new Failure('conflict', `A service is running on this data at ${urls}`, {
      hint: `Stop it first with: kill ${running.map(({ pid }) => pid).join(' ')}`,
    })
  }

  return {
    ...administerKeys(data),
    ...administerAccounts(data),
    ...administerSessions(data),
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
    place: location,
    findOthers: (isNamed) => findOtherServices(directory, location, isNamed),
    findNothing: () => reportingFailures(async () => ((await openExisting()) ? undefined : location)),
    backUp: (file) => {
      requireSqlite(given)
      return backUp(directory, file)
    },
    async planRestore(file) {
      requireSqlite(given)
      checkBackup(file)
      await demandStopped()
      return { restore: resolve(file), replace: location }
    },
    async restore(file) {
      requireSqlite(given)
      await demandStopped()
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
  const { rows } = await sql<Counts>`
    select (select max(number) from migrations) as schema_version,
      (select count(*) from users) as users,
      (select count(*) from contexts) as contexts,
      (select count(*) from messages) as messages,
      (select count(*) from api_keys where revoked_at is null) as keys`.execute(db)
  return { ...noCounts, ...rows[0] }
}

function requireSqlite({ database }: DataLocation): void {
  if (database === undefined) return
  throw new Failure('usage', 'The data is in PostgreSQL: use the backup tools of PostgreSQL', {
    advice: [{ code: 'back_up_postgres' }],
  })
}

/** How long, in ms, a service may take to say how it is: it asks its database first. */
const healthTimeout = 3_000

/**
 * How a service on this machine says that it is: `ready`, or the `error.code` that it gives for not
 * being so; `unknown` when it says neither.
 * @param origin of the service or of its admin port
 */
function fetchHealth(origin: string): Promise<string> {
  const url = new URL('/readyz', origin)
  // Nothing secret is sent, and the certificate may be for a name that is not this machine's.
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
    // Something else listens there.
  }
  return 'unknown'
}
