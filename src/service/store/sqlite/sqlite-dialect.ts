import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { ReadingAdapter } from '../prepared-query.ts'
import { GroupCommit } from './group-commit.ts'

/** Two connections to one file, so that reads see only committed data. */
export interface SqliteConnections {
  reader: DatabaseSync
  writer: DatabaseSync
}

/**
 * Kysely with node:sqlite. Outside of a transaction, a read uses the reader immediately, and each write is a
 * separate operation. A transaction is one operation on the writer.
 * @param onCommit called after each COMMIT, before its writes succeed
 */
export function createSqliteDialect({ reader, writer }: SqliteConnections, onCommit: () => void): Dialect {
  const reading = createStatements(reader)
  const writing = createStatements(writer)
  const commits = new GroupCommit(writer, () => {
    writer.exec('commit')
    onCommit()
  })
  // Used again, because Kysely keeps a record of each connection.
  const released: SqliteConnection[] = []
  return {
    createAdapter: () => new Adapter(reading),
    createQueryCompiler: () => new Compiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => released.pop() ?? new SqliteConnection(reading, writing, commits),
      releaseConnection: async (connection) => void released.push(connection as SqliteConnection),
      beginTransaction: (connection) => (connection as SqliteConnection).begin(),
      commitTransaction: (connection) => (connection as SqliteConnection).commit(),
      rollbackTransaction: (connection) => (connection as SqliteConnection).rollback(),
      destroy: async () => {
        await commits.settled()
        closeBoth({ reader, writer })
      },
    }),
  }
}

/** Kysely does not call `destroy` of its driver if no query ran. */
export function closeBoth({ reader, writer }: SqliteConnections): void {
  if (reader.isOpen) reader.close()
  if (writer.isOpen) writer.close()
}

/** Otherwise, Kysely would run one query at a time. `GroupCommit` orders the writes. */
class Adapter extends SqliteAdapter implements ReadingAdapter {
  readonly #reading: SqliteStatements

  constructor(reading: SqliteStatements) {
    super()
    this.#reading = reading
  }

  read<Row>(sql: string, parameters: readonly unknown[]): Row[] {
    return this.#reading<Row>(sql, parameters).rows
  }

  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** SQLite locks the whole database for a writer and has no row locks. */
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(): void {}
}

/** The connection of one query or transaction. */
class SqliteConnection implements DatabaseConnection {
  readonly #reading: SqliteStatements
  readonly #writing: SqliteStatements
  readonly #commits: GroupCommit
  #isInTransaction = false

  constructor(reading: SqliteStatements, writing: SqliteStatements, commits: GroupCommit) {
    this.#reading = reading
    this.#writing = writing
    this.#commits = commits
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { sql, parameters } = query
    if (this.#isInTransaction) return this.#commits.run(() => this.#writing<Row>(sql, parameters))
    if (query.query.kind === 'SelectQueryNode') return this.#reading<Row>(sql, parameters)
    await this.#commits.begin()
    let result: QueryResult<Row>
    try {
      result = this.#commits.run(() => this.#writing<Row>(sql, parameters))
    } catch (error) {
      await this.#commits.rollback()
      throw error
    }
    await this.#commits.commit()
    return result
  }

  streamQuery(): never {
    throw new Error('streaming of rows is not supported')
  }

  async begin(): Promise<void> {
    await this.#commits.begin()
    this.#isInTransaction = true
  }

  async commit(): Promise<void> {
    this.#isInTransaction = false
    await this.#commits.commit()
  }

  async rollback(): Promise<void> {
    // Kysely also calls it after a failed commit, when another operation may have begun.
    if (!this.#isInTransaction) return
    this.#isInTransaction = false
    await this.#commits.rollback()
  }
}

/** Runs a query as a prepared statement. */
type SqliteStatements = <Row>(sql: string, parameters: readonly unknown[]) => QueryResult<Row>

/** Maximum number of prepared statements; the service has far fewer distinct ones. */
const maxStatements = 200

function createStatements(database: DatabaseSync): SqliteStatements {
  const statements = new Map<string, { statement: StatementSync; answers: boolean }>()

  function prepare(sql: string) {
    const known = statements.get(sql)
    if (known) return known
    const statement = database.prepare(sql)
    const prepared = { statement, answers: statement.columns().length > 0 }
    if (statements.size >= maxStatements) statements.clear()
    statements.set(sql, prepared)
    return prepared
  }

  return <Row>(sql: string, parameters: readonly unknown[]) => {
    const { statement, answers } = prepare(sql)
    const values = parameters as readonly SQLInputValue[]
    if (answers) return { rows: statement.all(...values) as Row[] }
    const { changes, lastInsertRowid } = statement.run(...values)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}
