import { Client } from 'pg'

/** How long, in ms, a server may take to close the connection. */
const disconnectTimeout = 1_000

/** A client of pg that always closes its connection. */
export class PostgresClient extends Client {
  /** Closes the connection if it fails. pg would leave the server waiting for a password, which blocks DROP DATABASE. */
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

  /** Ends the connection, also if the server does not respond. Never fails. */
  async disconnect(): Promise<void> {
    const timer = setTimeout(() => this.connection.stream.destroy(), disconnectTimeout)
    await this.end().catch(() => {})
    clearTimeout(timer)
  }
}
