import type { QueryConfig, QueryResult } from 'pg'
import type { PostgresClient } from './postgres-client.ts'
import { isUnavailable } from './postgres-errors.ts'

/**
 * A connection that all reads share. Statements are sent without waiting for earlier results, and those of
 * one turn of the event loop in one packet. Each fails or succeeds separately. It must not be used for
 * writes, locks, or transactions.
 */
export class ReadPipeline {
  readonly #connect: () => PostgresClient
  #client: Promise<PostgresClient> | undefined

  /** @param connect makes a client in pipeline mode that is not connected yet */
  constructor(connect: () => PostgresClient) {
    this.#connect = connect
  }

  async query(query: QueryConfig): Promise<QueryResult> {
    this.#client ??= this.#open()
    const opened = this.#client
    const client = await opened
    const { stream } = client.connection
    if (stream.writableCorked === 0) {
      stream.cork()
      // After all input of this turn of the event loop is handled.
      setImmediate(() => stream.uncork())
    }
    try {
      return await client.query(query)
    } catch (error) {
      if (isUnavailable(error) && this.#client === opened) this.#client = undefined
      throw error
    }
  }

  async close(): Promise<void> {
    const opened = this.#client
    this.#client = undefined
    await opened?.then(
      (client) => client.disconnect(),
      () => {},
    )
  }

  #open(): Promise<PostgresClient> {
    const client = this.#connect()
    const opening: Promise<PostgresClient> = client.connect().then(() => client)
    const forget = () => {
      if (this.#client === opening) this.#client = undefined
    }
    // The next query opens a new connection.
    client.on('error', forget)
    client.once('end', forget)
    opening.catch(forget)
    return opening
  }
}
