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
import { GroupCommit } from './group-commit.ts'

/** Two connections to one file: what is read is what was committed, whatever is being written. */
export interface SqliteConnections {
  reader: DatabaseSync
  writer: DatabaseSync
}

/**
 * Kysely over node:sqlite. Outside of a transaction reading goes to the reader, at once, and each
 * write is an operation of its own; a transaction is one operation on the writer.
 */
export function createSqliteDialect({ reader, writer }: SqliteConnections): Dialect {
  const reading = createStatements(reader)
  const writing = createStatements(writer)
  const commits = new GroupCommit(writer)
  return {
    createAdapter: () => new Adapter(),
    createQueryCompiler: () => new Compiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => new SqliteConnection(reading, writing, commits),
      releaseConnection: async () => {},
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

/** Kysely does not reach its driver when no query ran. */
export function closeBoth({ reader, writer }: SqliteConnections): void {
  if (reader.isOpen) reader.close()
  if (writer.isOpen) writer.close()
}

/** Kysely would else let one query in at a time; who waits for whom is settled below. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** SQLite locks the whole database for a writer, and knows no rows to lock. */
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(): void {}
}

/** What one query or one transaction works with. */
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
    if (this.#isInTransaction) return this.#commits.run(() => this.#writing<Row>(query))
    if (isReading(query)) return this.#reading<Row>(query)
    await this.#commits.begin()
    let result: QueryResult<Row>
    try {
      result = this.#commits.run(() => this.#writing<Row>(query))
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
    // Kysely asks for it after a commit that failed, too: by then the turn is somebody else's.
    if (!this.#isInTransaction) return
    this.#isInTransaction = false
    await this.#commits.rollback()
  }
}

function isReading({ query, sql }: CompiledQuery): boolean {
  return (
    query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*(select|with|pragma)\b/i.test(sql))
  )
}

/** Runs a query as a prepared statement. */
type SqliteStatements = <Row>(query: CompiledQuery) => QueryResult<Row>

/** Statements kept prepared; the service has far fewer distinct ones. */
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

  return <Row>(query: CompiledQuery) => {
    const { statement, answers } = prepare(query.sql)
    const parameters = query.parameters as SQLInputValue[]
    if (answers) return { rows: statement.all(...parameters) as Row[] }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}
