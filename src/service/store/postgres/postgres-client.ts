import { Client } from 'pg'

/** How long, in ms, a server may take to part. */
const disconnectTimeout = 1_000

/** pg's client, with an end to everything. */
export class PostgresClient extends Client {
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
  async disconnect(): Promise<void> {
    const timer = setTimeout(() => this.connection.stream.destroy(), disconnectTimeout)
    await this.end().catch(() => {})
    clearTimeout(timer)
  }
}
