import { Client, type ClientConfig, types } from 'pg'
import { Failure } from '../../../contract/failure.ts'

/** How to connect, and the database in words that hold no secret. */
export interface Address {
  config: ClientConfig
  /** `postgres://host:port/database`. */
  place: string
}

/** How long, in ms, to wait for a connection: for one of the pool's, too. */
const connectTimeout = 3_000

/** Unless sslmode says that nothing is checked, TLS proves whom it talks to. pg does so too, and warns that it will not for ever. */
const unchecked = /([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/

const int8 = 20
const numeric = 1700

/** Counts and sums are numbers, as from SQLite; none comes near 2^53. */
const numbers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 || oid === numeric ? Number : types.getTypeParser(oid, format as 'text'),
}

/**
 * Reads a URL as libpq does, with what PGHOST, PGUSER, PGPASSWORD and the like say beside it.
 * @param statementTimeout how long, in ms, the server works on one statement; the URL may say otherwise
 * @throws Failure `config`, which does not repeat the URL
 */
export function readDatabaseUrl(url: string, statementTimeout: number): Address {
  const connectionString = /[?&]uselibpqcompat=/.test(url) ? url : url.replace(unchecked, '$1verify-full')
  const config: ClientConfig = {
    connectionString,
    application_name: 'chatctl',
    connectionTimeoutMillis: connectTimeout,
    statement_timeout: statementTimeout,
    // A process that is stopped in the middle must not hold locks for ever.
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
    types: numbers,
  }
  try {
    const { host, port, database } = new Client(config)
    if (!Number.isInteger(port)) throw new Error('the port is not a number')
    return { config, place: placeOf(host, port, database ?? '') }
  } catch (error) {
    // Without a cause: an error of the URL parser carries the URL.
    const words = error instanceof Error ? error.message : String(error)
    throw new Failure('config', `Invalid database URL: ${words}`, {
      hint: 'For example: postgres://user@host:5432/database. Percent-encode special characters',
    })
  }
}

function placeOf(host: string, port: number, database: string): string {
  const shown = host.includes('/') ? encodeURIComponent(host) : host.includes(':') ? `[${host}]` : host
  return `postgres://${shown}:${port}/${encodeURIComponent(database)}`
}
