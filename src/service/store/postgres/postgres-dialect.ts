import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import type { Pool } from 'pg'
import { PooledConnection } from './pooled-connection.ts'
import { StorageUnavailable } from './postgres-errors.ts'
import { Statements } from './statements.ts'

export interface DialectOptions {
  pool: Pool
  /** How long, in ms, an answer may take before the connection counts as lost. */
  patience: number
  /** Told of each committed write that others must see, before whoever wrote is answered. */
  onChange(): void
}

/**
 * Kysely over a pool. Unlike Kysely's own driver it prepares statements, gives up on a server that
 * does not answer, and never hands a connection back that is of no use any more.
 */
export function createPostgresDialect(options: DialectOptions): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createDriver: () => createDriver(options),
  }
}

function createDriver(options: DialectOptions): Driver {
  const statements = new Statements()
  const own = (connection: DatabaseConnection) => connection as PooledConnection
  return {
    init: async () => {},
    acquireConnection: async () => {
      const client = await options.pool.connect().catch((cause) => {
        // Whatever the server or the network says at the door: there is no database now.
        throw new StorageUnavailable(String(cause?.message), { cause })
      })
      return new PooledConnection(client, statements, options)
    },
    releaseConnection: async (connection) => own(connection).release(),
    beginTransaction: (connection) => own(connection).begin(),
    commitTransaction: (connection) => own(connection).commit(),
    rollbackTransaction: (connection) => own(connection).rollback(),
    destroy: async () => {},
  }
}
