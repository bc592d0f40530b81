import { Kysely, PostgresDialect } from 'kysely'
import { type ClientBase, Pool, type PoolConfig } from 'pg'
import { type Migration, migrations } from '../migrations.ts'
import { StorageUnavailable, sqlStateOf, storageFailure } from '../storage-failure.ts'
import type { Store, Tables } from '../tables.ts'
import { ChangeFeed } from './change-feed.ts'
import { readDatabaseUrl } from './database-url.ts'
import { migratePostgres, schemaVersion } from './migrate-postgres.ts'
import { PostgresClient } from './postgres-client.ts'
import { PostgresCounters } from './postgres-counters.ts'

export interface PostgresOptions {
  /** Fills in what the URL omits: `PGHOST`, `PGPASSWORD`, and others. */
  env?: NodeJS.ProcessEnv | undefined
  /** How long, in ms, one statement may take. Default: 3,000. Does not apply to migrations. */
  statementTimeout?: number | undefined
  wanted?: readonly Migration[]
}

const maxConnections = 10

/**
 * Opens the database at a URL, `postgres://user@host:5432/name`. Creates the tables if it is empty.
 * @throws Failure `config` for an invalid URL, `unreachable`, `tls`, or `storage`
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const store = await open(url, options, migratePostgres)
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
    client: ClientBase,
    location: string,
    wanted: readonly Migration[],
  ) => Promise<boolean | undefined>,
): Promise<Store | undefined> {
  const { config, settings, location } = readDatabaseUrl(url, statementTimeout, env)
  const pool = new Pool({
    ...config,
    max: maxConnections,
    Client: PostgresClient as unknown as new () => ClientBase,
    // Not as parameters of the startup, which PgBouncer refuses.
    onConnect: async (client) => {
      const { rows } = await client.query<{ read_only: string }>(settings.text, settings.values)
      // It may stay read-only when the database no longer is.
      if (client instanceof PostgresClient) client.isSpent = rows[0]?.read_only === 'on'
    },
  } as PoolConfig)
  // The pool keeps no connection that is ending.
  pool.on('release', (_, client) => {
    if (client instanceof PostgresClient && client.isSpent) void client.end()
  })
  // It reports the loss of an idle connection, too.
  pool.on('error', () => {})
  // Any error while connecting means that the database is unavailable, unless it comes from the server.
  const connect = () =>
    pool.connect().catch((cause: Error) => {
      throw sqlStateOf(cause) === undefined ? new StorageUnavailable(cause.message, { cause }) : cause
    })
  let created: boolean | undefined
  try {
    const client = await connect()
    try {
      created = await prepare(client, location, wanted)
    } finally {
      client.release()
    }
  } catch (error) {
    await pool.end()
    throw storageFailure(error, '', location)
  }
  if (created === undefined) {
    await pool.end()
    return undefined
  }
  const feed = new ChangeFeed(() => new PostgresClient(config))
  const dialect = new PostgresDialect({ pool: { connect, end: () => pool.end(), options: pool.options } })
  const db = new Kysely<Tables>({ dialect })
  return {
    engine: 'postgres',
    db,
    location,
    created,
    generation: () => feed.generation(),
    noteChange: () => feed.bump(),
    openCounters: () => new PostgresCounters(db),
    close: async () => {
      await Promise.all([feed.close(), db.destroy()])
      // Kysely does not end the pool if no query ran.
      if (!pool.ending) await pool.end()
    },
  }
}
