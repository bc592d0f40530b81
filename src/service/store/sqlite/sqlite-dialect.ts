import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
} from 'kysely'
import { type Lock, lockOf } from './lock.ts'
import { SqliteCompiler } from './sqlite-compiler.ts'

/**
 * Kysely over one node:sqlite connection. Kysely's own driver begins deferred transactions, which
 * fail with "database is locked" at once when another process wrote between their read and their
 * write (SQLITE_BUSY_SNAPSHOT), so transactions here begin IMMEDIATE and wait as `busy_timeout` says.
 */
export function createSqliteDialect(database: DatabaseSync, path: string): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => createDriver(database, lockOf(path)),
  }
}

function createDriver(database: DatabaseSync, lock: Lock): Driver {
  const connection = createConnection(database)
  const run = async (sql: string) => void (await connection.executeQuery(CompiledQuery.raw(sql)))
  return {
    init: async () => {},
    acquireConnection: async () => {
      await lock.acquire()
      return connection
    },
    releaseConnection: async () => lock.release(),
    beginTransaction: () => run('begin immediate'),
    commitTransaction: () => run('commit'),
    rollbackTransaction: async () => {
      // SQLite has already rolled back by itself after some errors, a full disk among them.
      if (database.isTransaction) await run('rollback')
    },
    destroy: async () => database.close(),
  }
}

/** Statements kept prepared; the service has far fewer distinct ones. */
const maxStatements = 200

function createConnection(database: DatabaseSync): DatabaseConnection {
  const statements = new Map<string, { statement: StatementSync; reads: boolean }>()

  function prepare(sql: string) {
    const known = statements.get(sql)
    if (known) return known
    const statement = database.prepare(sql)
    const prepared = { statement, reads: statement.columns().length > 0 }
    if (statements.size >= maxStatements) statements.clear()
    statements.set(sql, prepared)
    return prepared
  }

  return {
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const { statement, reads } = prepare(query.sql)
      const parameters = query.parameters as SQLInputValue[]
      if (reads) return { rows: statement.all(...parameters) as Row[] }
      const { changes, lastInsertRowid } = statement.run(...parameters)
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
    },
    streamQuery() {
      throw new Error('streaming of rows is not supported')
    },
  }
}
