import { Kysely } from 'kysely'
import { type ClientBase, Pool, type PoolClient } from 'pg'
import { Failure } from '../../../contract/failure.ts'
import { type Migration, migrations } from '../migrations/migrations.ts'
import type { Store } from '../store.ts'
import type { Database, Tables } from '../tables.ts'
import { ChangeFeed } from './change-feed.ts'
import { readDatabaseUrl } from './database-url.ts'
import { migratePostgres, schemaVersion } from './migrate-postgres.ts'
import { PostgresClient } from './postgres-client.ts'
import { PostgresCounters } from './postgres-counters.ts'
import { createPostgresDialect, StatementNames } from './postgres-dialect.ts'
import {
  isConflict,
  isStaleStatement,
  postgresFailure,
  StorageUnavailable,
  sqlStateOf,
} from './postgres-errors.ts'
import { ReadPipeline } from './read-pipeline.ts'

export interface PostgresOptions {
  /** Fills in what the URL omits: `PGHOST`, `PGPASSWORD`, and others. */
  env?: NodeJS.ProcessEnv | undefined
  /** How long, in ms, one statement may take. Default: 3,000. Does not apply to migrations. */
  statementTimeout?: number | undefined
  wanted?: readonly Migration[]
}

const maxConnections = 10

/** In ms, added to the statement timeout: when to give up on a server that does not respond at all. */
const grace = 500

/**
 * Opens the database at a URL, `postgres://user@host:5432/name`. Creates the tables if it is empty.
 * @throws Failure `config` for an invalid URL, `unreachable`, `tls`, or `storage`
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const store = await open(url, options, async (client, location, wanted) =>
    migratePostgres(client, location, wanted),
  )
  if (store === undefined) throw new Error('the tables were created but do not exist')
  return store
}

/** Opens a database that has the tables. Undefined for an empty database, which stays empty. */
export function openExistingPostgres(url: string, options: PostgresOptions = {}): Promise<Store | undefined> {
  return open(url, options, async (client, location, wanted) => {
    if ((await schemaVersion(client, location, wanted)) === 0) return undefined
    return migratePostgres(client, location, wanted)
  })
}

/** `Store.location` of a URL. @throws Failure `config` */
export function describePostgres(url: string, env: NodeJS.ProcessEnv = {}): string {
  return readDatabaseUrl(url, 0, env).location
}

/** @param prepare runs on the first connection; returns whether it created the tables; undefined if there are none */
async function open(
  url: string,
  { env = {}, statementTimeout = 3_000, wanted = migrations }: PostgresOptions,
  prepare: (
    client: PoolClient,
    location: string,
    wanted: readonly Migration[],
  ) => Promise<boolean | undefined>,
): Promise<Store | undefined> {
  const { config, location } = readDatabaseUrl(url, statementTimeout, env)
  const pool = new Pool({
    ...config,
    max: maxConnections,
    Client: PostgresClient as unknown as new () => PostgresClient,
  })
  // It reports the loss of an idle connection, too.
  pool.on('error', () => {})
  let created: boolean | undefined
  try {
    const client = await pool.connect().catch(unreachable)
    try {
      await requireOwnProcess(client, pool, location)
      created = await prepare(client, location, wanted)
    } finally {
      client.release()
    }
  } catch (error) {
    await pool.end()
    throw postgresFailure(error, location) ?? error
  }
  if (created === undefined) {
    await pool.end()
    return undefined
  }
  const feed = new ChangeFeed(() => new PostgresClient(config))
  const responseTimeout = statementTimeout + grace
  const reads = new ReadPipeline(() => new PostgresClient({ ...config, pipeline: true }))
  const statements = new StatementNames()
  const dialect = createPostgresDialect({
    pool,
    reads,
    statements,
    responseTimeout,
    onChange: () => feed.bump(),
  })
  const db = retryTransactions(new Kysely<Tables>({ dialect }))
  return {
    engine: 'postgres',
    db,
    location,
    created,
    generation: () => feed.generation(),
    openCounters: () => new PostgresCounters(db),
    close: async () => {
      await db.destroy()
      await Promise.all([feed.close(), reads.close(), pool.end()])
    },
  }
}

/** An error with an SQLSTATE comes from the server and stays as it is. */
function unreachable(cause: Error): never {
  if (sqlStateOf(cause) !== undefined) throw cause
  throw new StorageUnavailable(cause.message, { cause })
}

const processOf = async (client: ClientBase): Promise<number> =>
  (await client.query('select pg_backend_pid() as pid')).rows[0].pid

/** @throws Failure `config` if a pooler changes the process of the server between the statements of a session */
async function requireOwnProcess(client: ClientBase, pool: Pool, location: string): Promise<void> {
  const own = await processOf(client)
  // Without a pooler.
  if (own === (client as unknown as PostgresClient).processID) return
  const other = await pool.connect().catch(unreachable)
  try {
    const others = await processOf(other)
    // Other programs may use the same pool, so a single comparison could miss it.
    for (let round = 0; round < 5; round++) {
      if (others !== own && (await processOf(client)) === own && (await processOf(other)) === others) continue
      throw new Failure('config', `The pooler at ${location} is not in session mode`, {
        hint: 'Set pool_mode = session in PgBouncer, or connect to PostgreSQL directly',
      })
    }
  } finally {
    other.release()
  }
}

/** Maximum attempts of a transaction. */
const maxAttempts = 4

/**
 * Runs a transaction again if the server ended it because of a conflict with another one, such as a
 * deadlock.
 */
function retryTransactions(db: Database): Database {
  const begin = db.transaction.bind(db)
  db.transaction = () => {
    const builder = begin()
    const execute = builder.execute.bind(builder)
    builder.execute = (...parameters) => retry(() => execute(...parameters))
    return builder
  }
  return db
}

async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (count === maxAttempts || !(isConflict(error) || isStaleStatement(error))) throw error
    }
  }
}
