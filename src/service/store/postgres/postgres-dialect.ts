import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import { type Means, PostgresConnection } from './postgres-connection.ts'

/**
 * Kysely over pg. Unlike Kysely's own driver it prepares statements, lets all readers share a
 * connection, gives up on a server that does not answer, and never hands a connection back that is
 * of no use any more.
 */
export function createPostgresDialect(means: Means): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createDriver: () => createDriver(means),
  }
}

function createDriver(means: Means): Driver {
  const own = (connection: DatabaseConnection) => connection as PostgresConnection
  return {
    init: async () => {},
    acquireConnection: async () => new PostgresConnection(means),
    releaseConnection: async (connection) => own(connection).release(),
    beginTransaction: (connection) => own(connection).begin(),
    commitTransaction: (connection) => own(connection).commit(),
    rollbackTransaction: (connection) => own(connection).rollback(),
    destroy: async () => {},
  }
}
