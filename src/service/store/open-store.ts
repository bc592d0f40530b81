import { statSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { databaseFile, openSqlite } from './sqlite/open-sqlite.ts'
import type { Store } from './store.ts'

/** Where a service keeps its data. */
export interface DataLocation {
  /** Made when missing; holds the database unless `database` names another. */
  dataDir: string
  /** `postgres://…`; SQLite in the data folder when not given. */
  database?: string | undefined
  /** Says what the URL of PostgreSQL omits: `PGHOST`, `PGPASSWORD`, `PGPASSFILE`, and the like. */
  env?: NodeJS.ProcessEnv | undefined
  /** How long, in ms, one statement of PostgreSQL may take; 3,000 when not given. */
  statementTimeout?: number | undefined
}

/** Opens the data, made or migrated where that is due. @throws Failure which names the place, without a password */
export async function openStore({ dataDir, database, env, statementTimeout }: DataLocation): Promise<Store> {
  if (database === undefined) return openSqlite(dataDir)
  requirePostgres(database)
  const { openPostgres } = await import('./postgres/open-postgres.ts')
  return openPostgres(database, { env, statementTimeout })
}

/** The same where there is data; looking at a place makes nothing in it. @throws as `openStore` */
export async function openExistingStore(location: DataLocation): Promise<Store | undefined> {
  const { dataDir, database, env, statementTimeout } = location
  if (database === undefined) return mayExist(databaseFile(dataDir)) ? openStore(location) : undefined
  requirePostgres(database)
  const { openExistingPostgres } = await import('./postgres/open-postgres.ts')
  return openExistingPostgres(database, { env, statementTimeout })
}

/** The database in words that hold no secret, as `Store.place` has it, without looking for it. @throws as `openStore` */
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

/** Whatever is wrong with a folder but that nothing is there, opening it says best. */
function mayExist(file: string): boolean {
  try {
    statSync(file)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
