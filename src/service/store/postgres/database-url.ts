import { Client, type ClientConfig, types } from 'pg'
import { parse } from 'pg-connection-string'
// @ts-expect-error The package has no types.
import readPasswordFile from 'pgpass'
import { Failure } from '../../../contract/failure.ts'

/** How long, in ms, to wait for a connection, also for one of the pool. */
const connectTimeout = 3_000

/** In ms, added to the statement timeout: when to give up on a server that does not respond at all. */
const grace = 500

/** These modes verify the server, as in pg. `verify-full` replaces them, because pg prints a warning for them. */
const unchecked = /([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/

// It would print its warnings as plain text. A password that is missing is an error, which names the rule.
readPasswordFile.warnTo(undefined)

const int8 = 20
const numeric = 1700

/** Counts and sums are numbers, as in SQLite. None is near 2^53. */
const numbers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 || oid === numeric ? Number : types.getTypeParser(oid, format as 'text'),
}

/**
 * Reads a URL like libpq: `env` fills in what the URL omits.
 * @param statementTimeout how long, in ms, one statement may take on the server; the URL may override it
 * @returns how to connect, and the location of the database without a secret. `settings` runs first on each
 *   connection, and reads the server process, and whether the session is read-only
 * @throws Failure `config`, which does not repeat the URL
 */
export function readDatabaseUrl(url: string, statementTimeout: number, env: NodeJS.ProcessEnv) {
  const connectionString = /[?&]uselibpqcompat=/.test(url) ? url : url.replace(unchecked, '$1verify-full')
  const bounds: ClientConfig = {
    application_name: 'chatctl',
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
    types: numbers,
  }
  try {
    const {
      statement_timeout = statementTimeout,
      // A process that is suspended during a transaction must not hold locks forever.
      idle_in_transaction_session_timeout = 10_000,
      ...config
    } = { ...bounds, ...complete(parse(connectionString), env) }
    const { host, port, database } = new Client(config)
    if (!Number.isInteger(port)) throw new Error('the port is not a number')
    const settings = {
      text: "select set_config('statement_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $2, false), current_setting('transaction_read_only') as read_only, pg_backend_pid() as pid",
      values: [String(statement_timeout), String(idle_in_transaction_session_timeout)],
    }
    const bounded = { ...config, responseTimeout: Number(statement_timeout) + grace }
    return { config: bounded, settings, location: locationOf(host, port, database ?? '') }
  } catch (error) {
    // Without a cause: an error of the URL parser contains the URL.
    const words = error instanceof Error ? error.message : String(error)
    throw new Failure('config', `Invalid database URL: ${words}`, {
      hint: 'For example: postgres://user@host:5432/database. Percent-encode special characters',
    })
  }
}

/**
 * Reads from `env` what pg would read from the environment of the process. Sets every value, because pg would
 * fill in the others. If both omit the password, it is in the password file of libpq, which pg would read with
 * a deprecation warning on stderr. Its package `pgpass` finds it with PGPASSFILE, HOME, or APPDATA of the process.
 */
function complete(named: ReturnType<typeof parse>, env: NodeJS.ProcessEnv): ClientConfig {
  const user = named.user || env['PGUSER'] || env['USER'] || env['USERNAME'] || ''
  const host = named.host || env['PGHOST'] || 'localhost'
  const port = Number(named.port || env['PGPORT'] || 5432)
  const database = named.database || env['PGDATABASE'] || user
  const password =
    named.password ||
    env['PGPASSWORD'] ||
    (() => new Promise<string>((resolve) => readPasswordFile({ host, port, database, user }, resolve)))
  const ssl = (named.ssl ?? sslOf(env['PGSSLMODE'])) as NonNullable<ClientConfig['ssl']>
  const sslnegotiation = named.sslnegotiation || env['PGSSLNEGOTIATION'] || 'postgres'
  const options = named.options || env['PGOPTIONS']
  return {
    ...(named as object),
    ...{ user, host, port, database, password, ssl, sslnegotiation },
    ...(options !== undefined && { options }),
  } as ClientConfig
}

function sslOf(mode: string | undefined): ClientConfig['ssl'] {
  if (mode === 'no-verify') return { rejectUnauthorized: false }
  return ['prefer', 'require', 'verify-ca', 'verify-full'].includes(mode ?? '')
}

function locationOf(host: string, port: number, database: string): string {
  const shown = host.includes('/') ? encodeURIComponent(host) : host.includes(':') ? `[${host}]` : host
  return `postgres://${shown}:${port}/${encodeURIComponent(database)}`
}
