import { hash } from 'node:crypto'
import { Client, type ClientConfig, type QueryConfig } from 'pg'
import { isOfSession, StorageUnavailable, sqlStateOf } from '../storage-failure.ts'

/** How long, in ms, a server may take to close the connection. */
const disconnectTimeout = 1_000

interface PostgresConfig extends ClientConfig {
  /** How long, in ms, a result may take before the connection counts as lost. */
  responseTimeout?: number | undefined
}

/** A client of pg for a server that may stop responding. */
export class PostgresClient extends Client {
  /** The server process, as the server or a pooler names it. Missing in the types of pg. */
  declare readonly processID: number | null
  /** The server process that the session began with. */
  serverProcess: number | undefined
  /** Whether the session cannot do what others can, so that it must not serve another request. */
  mustEnd = false
  readonly #responseTimeout: number | undefined

  constructor(config: PostgresConfig) {
    super(config)
    this.#responseTimeout = config.responseTimeout
    // Without a listener, the loss of a connection would end the process.
    this.on('error', () => {})
  }

  /**
   * Runs a statement. One with values, as all of Kysely, is prepared and has a timeout. Any error of the
   * connection is a `StorageUnavailable`.
   */
  // biome-ignore lint/suspicious/noExplicitAny: pg has many signatures, and chatctl uses two
  override query(text: any, values?: any): any {
    const bounds =
      values === undefined ? {} : { values: values.map(storable), query_timeout: this.#responseTimeout }
    const name = values?.length > 0 ? nameOf(text) : undefined
    return super.query({ text, name, ...bounds }).catch((cause: Error) => this.#report(cause))
  }

  /** Runs the first statement, without a name, which a pooler may have used for another client. */
  async startSession({ text, values }: { text: string; values: string[] }): Promise<void> {
    const { rows } = await super.query({ text, values, query_timeout: this.#responseTimeout } as QueryConfig)
    this.serverProcess = rows[0]?.pid
    // It may stay read-only when the database no longer is.
    this.mustEnd = rows[0]?.read_only === 'on'
  }

  /** Closes the connection if it fails. pg would leave the server waiting for a password, which blocks DROP DATABASE. */
  override connect(): Promise<this>
  override connect(callback: (error?: Error) => void): void
  override connect(callback?: (error?: Error) => void): Promise<this> | undefined {
    const connected = super.connect().catch((error) => {
      this.connection.stream.destroy()
      throw error
    }) as Promise<this>
    if (callback === undefined) return connected
    connected.then(() => callback(), callback)
    return undefined
  }

  #report(cause: Error): never {
    const isOfServer = sqlStateOf(cause) !== undefined
    this.mustEnd ||= isOfSession(cause)
    if (isOfServer || cause instanceof TypeError || cause instanceof RangeError) throw cause
    // After a timeout, the connection would wait for the old result. The pool drops it when it is closed.
    this.connection.stream.destroy()
    throw new StorageUnavailable(cause.message, { cause })
  }

  /** Also ends if the server does not respond. */
  override end(): Promise<void>
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    const timer = setTimeout(() => this.connection.stream.destroy(), disconnectTimeout)
    // An open connection keeps the process alive by itself.
    timer.unref()
    // Not with the event `end`, which a client that has ended does not emit again.
    const ended = super.end().finally(() => clearTimeout(timer))
    if (callback === undefined) return ended
    ended.then(callback)
    return undefined
  }
}

/** PostgreSQL cannot store U+0000, so a search for text with it must find nothing. */
const storable = (value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value)

/** The name of a prepared statement. PostgreSQL parses and plans it once for each connection. */
const nameOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22)
