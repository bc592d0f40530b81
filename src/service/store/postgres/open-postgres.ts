import { Kysely } from 'kysely'
import { Pool, type PoolClient } from 'pg'
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
  /** Says what the URL omits: `PGHOST`, `PGPASSWORD`, and the like. */
  env?: NodeJS.ProcessEnv | undefined
  /** How long, in ms, one statement may take; 3,000 when not given. Migrations take what they need. */
  statementTimeout?: number | undefined
  wanted?: readonly Migration[]
}

const maxConnections = 10

/** How much later than the server, in ms, this side gives up: when there is no server any more. */
const grace = 500

/**
 * Opens the database at a URL, `postgres://user@host:5432/name`, making our tables in it when it is
 * empty.
 * @throws Failure `config` for a URL that is none, `unreachable`, `tls`, or `storage`
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const store = await open(url, options, async (client, location, wanted) =>
    migratePostgres(client, location, wanted),
  )
  if (store === undefined) throw new Error('the tables were created but do not exist')
  return store
}

/** The same where our tables are; undefined for an empty database, which stays empty. */
export function openExistingPostgres(url: string, options: PostgresOptions = {}): Promise<Store | undefined> {
  return open(url, options, async (client, location, wanted) => {
    if ((await schemaVersion(client, location, wanted)) === 0) return undefined
    return migratePostgres(client, location, wanted)
  })
}

/** `Store.place` of a URL. @throws Failure `config` */
export function describePostgres(url: string, env: NodeJS.ProcessEnv = {}): string {
  return readDatabaseUrl(url, 0, env).location
}

/** @param prepare what is done on the first connection: whether it made the data; undefined for none */
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
  // A connection that is lost while nobody uses it is no reason to end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  let created: boolean | undefined
  try {
    const client = await pool.connect().catch(unreachable)
    try {
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

/** What has a state was said by a server, and is judged by it. */
function unreachable(cause: Error): never {
  if (sqlStateOf(cause) !== undefined) throw cause
  throw new StorageUnavailable(cause.message, { cause })
}

/** How often a transaction begins at most. */
const maxAttempts = 4

/**
 * Has a transaction that was ended for the sake of another one run again: each loses a deadlock
 * without being wrong.
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
