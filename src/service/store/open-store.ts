import { statSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import type { MigrationRule } from './migrations.ts'
import { databaseFile, openSqlite } from './sqlite/open-sqlite.ts'
import type { Store } from './tables.ts'

/** Where a service keeps its data. */
export interface DataLocation {
  /** Created if it is missing. Contains the database, unless `database` is set. */
  dataDir: string
  /** `postgres://…`. Default: SQLite in the data directory. */
  database?: string | undefined
  /** Fills in what the URL of PostgreSQL omits: `PGHOST`, `PGPASSWORD`, and others. Not for the password file. */
  env?: NodeJS.ProcessEnv | undefined
  /** Default: data of an older program is refused. */
  migration?: MigrationRule | undefined
  /** How long, in ms, one statement of PostgreSQL may take. Default: 3,000. */
  statementTimeout?: number | undefined
}

/** Opens the database; creates it if necessary. @throws Failure with the location, without a password */
export async function openStore({ dataDir, database, ...options }: DataLocation): Promise<Store> {
  if (database === undefined) return openSqlite(dataDir, undefined, options.migration)
  requirePostgres(database)
  const { openPostgres } = await import('./postgres/open-postgres.ts')
  return openPostgres(database, options)
}

/** Opens an existing database. Undefined if there is none; creates nothing. @throws as `openStore` */
export async function openExistingStore(location: DataLocation): Promise<Store | undefined> {
  const { dataDir, database, ...options } = location
  if (database === undefined) return mayExist(databaseFile(dataDir)) ? openStore(location) : undefined
  requirePostgres(database)
  const { openExistingPostgres } = await import('./postgres/open-postgres.ts')
  return openExistingPostgres(database, options)
}

/** `Store.location` of a database, without opening it. @throws as `openStore` */
export async function describeDatabase({ dataDir, database, env }: DataLocation): Promise<string> {
  if (database === undefined) return databaseFile(dataDir)
  requirePostgres(database)
  const { describePostgres } = await import('./postgres/open-postgres.ts')
  return describePostgres(database, env)
}

function requirePostgres(database: string): void {
  if (/^postgres(ql)?:\/\//.test(database)) return
  throw new Failure('usage', 'The database must be a URL such as postgres://user@host:5432/name', {
    advice: [{ code: 'database_or_directory' }],
  })
}

/** True also for an error other than ENOENT, which opening the file then reports. */
function mayExist(file: string): boolean {
  try {
    statSync(file)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
