import { Kysely, PostgresDialect } from 'kysely'
import { type ClientBase, Pool, type PoolConfig } from 'pg'
import { Failure } from '../../../contract/failure.ts'
import { type Migrated, type Migration, type MigrationRule, migrations } from '../migrations.ts'
import { StorageUnavailable, sqlStateOf, storageFailure } from '../storage-failure.ts'
import type { Store, Tables } from '../tables.ts'
import { ChangeFeed } from './change-feed.ts'
import { readDatabaseUrl } from './database-url.ts'
import { migratePostgres, schemaVersion } from './migrate-postgres.ts'
import { PostgresClient } from './postgres-client.ts'
import { PostgresCounters } from './postgres-counters.ts'

interface PostgresOptions {
  /** Fills in what the URL omits: `PGHOST`, `PGPASSWORD`, and others. */
  env?: NodeJS.ProcessEnv | undefined
  /** How long, in ms, one statement may take. Default: 3,000. Does not apply to migrations. */
  statementTimeout?: number | undefined
  wanted?: readonly Migration[]
  migration?: MigrationRule | undefined
}

const maxConnections = 10

/**
 * Opens the database at a URL, `postgres://user@host:5432/name`. Creates the tables if it is empty.
 * @throws Failure `config` for an invalid URL, `unreachable`, `tls`, or `storage`
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const store = await open(url, options)
  if (store === undefined) throw new Error('the tables were created but do not exist')
  return store
}

/** Opens a database that has the tables. Undefined for an empty database, which stays empty. */
export function openExistingPostgres(url: string, options: PostgresOptions = {}): Promise<Store | undefined> {
  return open(url, options, true)
}

/** `Store.location` of a URL. @throws Failure `config` */
export function describePostgres(url: string, env: NodeJS.ProcessEnv = {}): string {
  return readDatabaseUrl(url, 0, env).location
}

/** @param mustExist whether the result is undefined for an empty database */
async function open(
  url: string,
  { env = {}, statementTimeout = 3_000, wanted = migrations, migration }: PostgresOptions,
  mustExist = false,
): Promise<Store | undefined> {
  let parsed = readDatabaseUrl(url, statementTimeout, env)
  const { location } = parsed
  const pool = new Pool({
    ...parsed.config,
    max: maxConnections,
    Client: class extends PostgresClient {
      constructor() {
        super(parsed.config)
      }
    } as unknown as new () => ClientBase,
    // Not as parameters of the startup, which PgBouncer refuses.
    onConnect: async (client) => {
      if (client instanceof PostgresClient) await client.startSession(parsed.settings)
    },
  } as PoolConfig)
  // The pool keeps no connection that is ending.
  pool.on('release', (_, client) => {
    if (client instanceof PostgresClient && client.mustEnd) void client.end()
  })
  // It reports the loss of an idle connection, too.
  pool.on('error', () => {})
  const connect = () =>
    pool.connect().catch((cause: Error) => {
      // Any error while connecting means that the database is unavailable, unless it comes from the server.
      throw sqlStateOf(cause) === undefined ? new StorageUnavailable(cause.message, { cause }) : cause
    })
  let isEmpty = false
  let migrated: Migrated | undefined
  try {
    const client = await connect()
    try {
      await refuseTransactionPooling(client, new PostgresClient(parsed.config), location)
      isEmpty = mustExist && (await schemaVersion(client, location, wanted)) === 0
      if (!isEmpty) migrated = await migratePostgres(client, location, wanted, migration)
    } finally {
      client.release()
    }
  } catch (error) {
    await pool.end()
    throw storageFailure(error, '', location)
  }
  if (isEmpty) {
    await pool.end()
    return undefined
  }
  const feed = new ChangeFeed(() => new PostgresClient(parsed.config))
  const dialect = new PostgresDialect({ pool: { connect, end: () => pool.end(), options: pool.options } })
  const db = new Kysely<Tables>({ dialect })
  return {
    engine: 'postgres',
    db,
    location,
    created: migrated?.from === 0,
    migrated,
    generation: () => feed.generation(),
    noteChange: () => feed.bump(),
    openCounters: () => new PostgresCounters(db),
    prepareReload(again) {
      const next = readDatabaseUrl(again, statementTimeout, env)
      if (next.location !== location)
        throw new Failure('config', `${next.location} is another database than ${location}`, {
          hint: 'Restart the service to use another database',
        })
      return () => {
        parsed = next
      }
    },
    close: async () => {
      await Promise.all([feed.close(), db.destroy()])
      // Kysely does not end the pool if no query ran.
      if (!pool.ending) await pool.end()
    },
  }
}

/**
 * A pooler invents the process that it names to its clients. If it pools transactions, the server process of an idle
 * session is free for another one.
 * @throws Failure `config`
 */
async function refuseTransactionPooling(
  client: ClientBase,
  other: PostgresClient,
  location: string,
): Promise<void> {
  const { processID, serverProcess } = client as unknown as PostgresClient
  if (processID === serverProcess) return
  const pidOf = async (session: ClientBase | PostgresClient): Promise<number> =>
    (await session.query('select pg_backend_pid() as pid')).rows[0].pid
  try {
    await other.connect()
    // The transaction takes the free process, so that the idle session receives another one.
    const isShared =
      (await pidOf(other)) === serverProcess ||
      (await other.query('begin').then(() => pidOf(other))) === serverProcess ||
      (await pidOf(client)) !== serverProcess
    if (!isShared) return
  } finally {
    await other.end()
  }
  throw new Failure('config', `${location} is behind a pooler that pools transactions, not sessions`, {
    hint: 'Set pool_mode = session in PgBouncer, or connect to PostgreSQL directly',
  })
}
