import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import type { PoolClient, QueryResult as ServerResult } from 'pg'
import { isStaleStatement, isUnavailable, StorageUnavailable, sqlStateOf } from './postgres-errors.ts'
import type { Statements } from './statements.ts'

interface Bounds {
  /** How long, in ms, an answer may take before the connection counts as lost. */
  patience: number
  /** Told of each committed write that others must see, before whoever wrote is answered. */
  onChange(): void
}

const counted = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/** A connection of the pool, from when it is taken until it is given back. */
export class PooledConnection implements DatabaseConnection {
  readonly #client: PoolClient
  readonly #statements: Statements
  readonly #bounds: Bounds
  #isInTransaction = false
  #hasChanged = false
  #isLost = false

  constructor(client: PoolClient, statements: Statements, bounds: Bounds) {
    this.#client = client
    this.#statements = statements
    this.#bounds = bounds
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { rows, rowCount, command } = await this.#execute(query.sql, query.parameters)
    return {
      rows: (rows ?? []) as Row[],
      ...(counted.has(command) && { numAffectedRows: BigInt(rowCount ?? 0) }),
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for it, nobody here streams rows
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('streaming of rows is not supported')
  }

  async begin(): Promise<void> {
    this.#isInTransaction = true
    this.#hasChanged = false
    await this.#send({ text: 'begin' })
  }

  async commit(): Promise<void> {
    const { command } = await this.#send({ text: 'commit' })
    this.#isInTransaction = false
    // What PostgreSQL makes of a commit after an error that somebody swallowed.
    if (command === 'ROLLBACK')
      throw new Error('the transaction had failed before its end, and nothing was stored')
    if (this.#hasChanged) this.#bounds.onChange()
  }

  /** Never fails: a connection that cannot roll back is thrown away, which does it. */
  async rollback(): Promise<void> {
    this.#isInTransaction = false
    if (this.#isLost) return
    try {
      await this.#send({ text: 'rollback' })
    } catch {
      this.#isLost = true
    }
  }

  release(): void {
    this.#client.release(this.#isLost || this.#isInTransaction)
  }

  async #execute(text: string, parameters: readonly unknown[]): Promise<ServerResult> {
    const { name, changes } = this.#statements.of(text)
    const values = parameters.map(storable)
    try {
      const result = await this.#send({ text, values, ...(name !== undefined && { name }) })
      if (!changes) return result
      if (this.#isInTransaction) this.#hasChanged = true
      else this.#bounds.onChange()
      return result
    } catch (error) {
      if (!isStaleStatement(error)) throw error
      this.#statements.renew()
      // A transaction has failed with it, and is run again as a whole.
      if (this.#isInTransaction) throw error
      return this.#execute(text, parameters)
    }
  }

  async #send(query: { text: string; values?: unknown[]; name?: string }): Promise<ServerResult> {
    try {
      return await this.#client.query({ ...query, query_timeout: this.#bounds.patience } as typeof query)
    } catch (error) {
      if (isUnavailable(error) || (isPlain(error) && sqlStateOf(error) === undefined)) this.#isLost = true
      if (!this.#isLost || sqlStateOf(error) !== undefined) throw error
      throw new StorageUnavailable((error as Error).message, { cause: error })
    }
  }
}

/** The socket's errors and pg's own about it; a wrong argument is a bug and stays one. */
const isPlain = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError)

/** No text of PostgreSQL holds U+0000, and where one is looked for there is nothing to be found. */
const storable = (value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value)
