import { Client, type ClientConfig, type QueryConfig } from 'pg'

/** How long, in ms, a server may take to close the connection. */
const disconnectTimeout = 1_000

export interface PostgresConfig extends ClientConfig {
  /** Runs first on each connection: PgBouncer refuses settings as startup parameters. */
  settings?: QueryConfig | undefined
}

/** A client of pg that always closes its connection. */
export class PostgresClient extends Client {
  /** As the server reports it when the connection begins; a pooler reports its own number. */
  declare readonly processID: number
  readonly #settings: QueryConfig | undefined

  constructor(config: PostgresConfig) {
    super(config)
    this.#settings = config.settings
    // Without a listener, the loss of a connection would end the process. A pool listens only after `connect`.
    this.on('error', () => {})
  }

  /** Closes the connection if it fails. pg would leave the server waiting for a password, which blocks DROP DATABASE. */
  override connect(): Promise<this>
  override connect(callback: (error?: Error) => void): void
  override connect(callback?: (error?: Error) => void): Promise<this> | undefined {
    const connected = this.#open()
    if (callback === undefined) return connected
    connected.then(() => callback(), callback)
    return undefined
  }

  async #open(): Promise<this> {
    try {
      await super.connect()
      if (this.#settings) await this.query(this.#settings)
      return this
    } catch (error) {
      this.end(() => {})
      throw error
    }
  }

  /** Ends the connection, also if the server does not respond. Never fails. */
  async disconnect(): Promise<void> {
    const timer = setTimeout(() => this.connection.stream.destroy(), disconnectTimeout)
    await this.end().catch(() => {})
    clearTimeout(timer)
  }
}
