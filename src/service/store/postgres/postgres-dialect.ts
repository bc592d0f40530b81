import { createHash } from 'node:crypto'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Pool, PoolClient, QueryConfig, QueryResult as ServerResult } from 'pg'
import { isStaleStatement, isUnavailable, StorageUnavailable, sqlStateOf } from './postgres-errors.ts'
import type { ReadPipeline } from './read-pipeline.ts'

/**
 * Kysely with pg. Unlike Kysely's own driver, it prepares statements, shares one connection for all reads,
 * gives up on a server that does not respond, and never returns an unusable connection to the pool.
 */
export function createPostgresDialect(parts: ConnectionParts): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createDriver: () => createDriver(parts),
  }
}

function createDriver(parts: ConnectionParts): Driver {
  const own = (connection: DatabaseConnection) => connection as PostgresConnection
  return {
    init: async () => {},
    acquireConnection: async () => new PostgresConnection(parts),
    releaseConnection: async (connection) => own(connection).release(),
    beginTransaction: (connection) => own(connection).begin(),
    commitTransaction: (connection) => own(connection).commit(),
    rollbackTransaction: (connection) => own(connection).rollback(),
    destroy: async () => {},
  }
}

/** What all connections of one store share. */
interface ConnectionParts {
  /** For writes and transactions. */
  pool: Pool
  /** For reads outside of transactions. */
  reads: ReadPipeline
  statements: StatementNames
  /** How long, in ms, a result may take before the connection counts as lost. */
  responseTimeout: number
  /** Called after each commit that changes a table of `Store.generation`, before the caller continues. */
  onChange(): void
}

const counted = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/** The connection of one query or transaction. It takes a client from the pool when it needs one. */
class PostgresConnection implements DatabaseConnection {
  readonly #parts: ConnectionParts
  #client: PoolClient | undefined
  #isInTransaction = false
  #hasChanged = false
  #isLost = false

  constructor(parts: ConnectionParts) {
    this.#parts = parts
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
    // PostgreSQL rolls back at the commit if a statement failed and its error was ignored.
    if (command === 'ROLLBACK')
      throw new Error('the transaction had failed before its end, and nothing was stored')
    if (this.#hasChanged) this.#parts.onChange()
  }

  /** Never fails: if it cannot roll back, the connection is closed, which rolls back too. */
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
    this.#client?.release(this.#isLost || this.#isInTransaction)
    this.#client = undefined
  }

  async #execute(text: string, parameters: readonly unknown[]): Promise<ServerResult> {
    const { name, changes, reads } = this.#parts.statements.of(text)
    const query = { text, values: parameters.map(storable), ...(name !== undefined && { name }) }
    try {
      const result = await this.#send(query, reads && !this.#isInTransaction)
      if (!changes) return result
      if (this.#isInTransaction) this.#hasChanged = true
      else this.#parts.onChange()
      return result
    } catch (error) {
      if (!isStaleStatement(error)) throw error
      this.#parts.statements.renew()
      // The whole transaction has failed; `retryTransactions` runs it again.
      if (this.#isInTransaction) throw error
      return this.#execute(text, parameters)
    }
  }

  async #send(query: QueryConfig, isPipelined = false): Promise<ServerResult> {
    const bounded = { ...query, query_timeout: this.#parts.responseTimeout }
    try {
      if (isPipelined) return await this.#parts.reads.query(bounded)
      this.#client ??= await this.#parts.pool.connect().catch(connectionRefused)
      return await this.#client.query(bounded)
    } catch (error) {
      if (isUnavailable(error) || isSocketError(error)) this.#isLost = true
      if (!isSocketError(error)) throw error
      throw new StorageUnavailable((error as Error).message, { cause: error })
    }
  }
}

/** Any error while connecting means that the database is unavailable. */
function connectionRefused(cause: Error): never {
  throw new StorageUnavailable(cause.message, { cause })
}

/** Errors of the socket, and those of pg about it. A TypeError or RangeError is a bug. */
const isSocketError = (error: unknown): boolean =>
  error instanceof Error &&
  sqlStateOf(error) === undefined &&
  !(error instanceof StorageUnavailable || error instanceof TypeError || error instanceof RangeError)

/** PostgreSQL cannot store U+0000, so a search for text with it must find nothing. */
const storable = (value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value)

/** Properties of an SQL text, determined once. */
interface KnownStatement {
  /** The name of the prepared statement; undefined if it is not prepared. */
  name: string | undefined
  /** Whether it may change a table of `Store.generation`. */
  changes: boolean
  /** Whether it neither writes nor locks. */
  reads: boolean
}

/** Far more than the service needs. A list of values has a different text for each length. */
const maxStatements = 500

/** The last use of a key does not count as a change. */
const noted = /^update "api_keys" set "last_used_at" = \$1 where/
const changing =
  /\b(?:insert\s+into|update|delete\s+from)\s+"?(?:settings|api_configuration|api_keys|users)\b/i

const reading = /^\s*select\b(?!.*\bfor (?:no key )?(?:update|share)\b)/is

/** The names of the prepared statements of one process. Each is parsed and planned once per connection. */
export class StatementNames {
  readonly #known = new Map<string, KnownStatement>()
  #round = 0

  of(sql: string): KnownStatement {
    const known = this.#known.get(sql)
    if (known) return known
    const digest = createHash('sha256').update(sql).digest('base64url').slice(0, 22)
    const statement = {
      name: this.#known.size < maxStatements ? `c${this.#round}_${digest}` : undefined,
      changes: changing.test(sql) && !noted.test(sql),
      reads: reading.test(sql),
    }
    if (statement.name !== undefined) this.#known.set(sql, statement)
    return statement
  }

  /** Prepares all statements again under other names, because the tables have changed. */
  renew(): void {
    this.#round += 1
    this.#known.clear()
  }
}
