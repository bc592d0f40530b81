import type { QueryConfig, QueryResult } from 'pg'
import type { PostgresClient } from './postgres-client.ts'
import { isUnavailable } from './postgres-errors.ts'

/**
 * A connection that all readers share: their statements are sent without waiting for the answers of
 * those before, and what is asked in one turn of the event loop leaves in one packet. Each fails or
 * succeeds by itself. Nothing goes here that writes, locks or belongs to a transaction.
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
      // When all that has arrived in this turn has been looked at.
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
    // One that is lost is forgotten at once, with all that was asked of it.
    client.on('error', forget)
    client.once('end', forget)
    opening.catch(forget)
    return opening
  }
}
