import { Client, type ClientConfig } from 'pg'
import { readPasswordFile } from './password-file.ts'

/** How long, in ms, a server may take to part. */
const longestFarewell = 1_000

/** pg's client, with a password from libpq's file where none was given, and an end to everything. */
export class PostgresClient extends Client {
  constructor(config: ClientConfig & { env: NodeJS.ProcessEnv }) {
    super(config)
    const self = this as unknown as { password: unknown }
    if (self.password) return
    const { host, port, database = '', user = '' } = this
    self.password = () => readPasswordFile({ host, port, database, user }, config.env)
  }

  /** Hangs up when it fails. pg leaves the server waiting for a password, and whoever drops a database with it. */
  override connect(): Promise<this>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<this> | undefined {
    const hangUp = () => this.end(() => {})
    if (callback === undefined) {
      return super.connect().then(
        () => this,
        (error) => {
          hangUp()
          throw error
        },
      )
    }
    super.connect((error: Error) => {
      if (error) hangUp()
      callback(error)
    })
    return undefined
  }

  /** Ends the connection, even where nobody answers any more; never fails. */
  async leave(): Promise<void> {
    const timer = setTimeout(() => this.connection.stream.destroy(), longestFarewell)
    await this.end().catch(() => {})
    clearTimeout(timer)
  }
}
