import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { loadSqlite } from '../../../load-sqlite.ts'
import { SqliteCounters } from '../../limits/sqlite-counters.ts'
import { type Migration, migrations } from '../migrations/migrations.ts'
import { isBusy, storageFailure } from '../storage-failure.ts'
import type { Store } from '../store.ts'
import type { Database, Tables } from '../tables.ts'
import { migrateSqlite } from './migrate-sqlite.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'

export interface SqliteStore extends Store {
  /** The same connection, for pragmas. */
  connection: DatabaseSync
}

/** How long, in ms, a writer waits for writers in other processes. */
const busyTimeout = 10_000

export const databaseFile = (folder: string): string => join(resolve(folder), 'chatctl.db')

/**
 * Opens the database in a data folder, making both when missing: the folder 0700, the file 0600.
 * @throws Failure `storage`, with the folder or the file named
 */
export function openSqlite(folder: string, wanted: readonly Migration[] = migrations): SqliteStore {
  const file = databaseFile(folder)
  let connection: DatabaseSync | undefined
  try {
    mkdirSync(resolve(folder), { recursive: true, mode: 0o700 })
    // SQLite would make the file with the umask's mode; its -wal and -shm take the file's own.
    closeSync(openSync(file, 'a', 0o600))
    const { DatabaseSync } = loadSqlite()
    connection = new DatabaseSync(file, { timeout: busyTimeout, enableForeignKeyConstraints: true })
    const created = prepare(connection, file, wanted)
    const open = connection
    const db = new Kysely<Tables>({ dialect: createSqliteDialect(open, file) })
    const version = open.prepare('select data_version + total_changes() as n from pragma_data_version')
    return {
      engine: 'sqlite',
      db,
      connection: open,
      place: file,
      created,
      generation: () => (version.get() as { n: number }).n,
      openCounters: (warn) => new SqliteCounters(resolve(folder), warn),
      close: () => closeDatabase(db, open),
    }
  } catch (error) {
    connection?.close()
    throw storageFailure(error, resolve(folder), file)
  }
}

function prepare(connection: DatabaseSync, file: string, wanted: readonly Migration[]): boolean {
  // Migrated before the journal mode is set: a file that is refused must stay as it was.
  const created = migrateSqlite(connection, file, wanted)
  useWriteAheadLog(connection)
  connection.exec('pragma synchronous = full')
  return created
}

/** SQLite does not wait by itself when several connections change the journal mode at once. */
function useWriteAheadLog(connection: DatabaseSync): void {
  const deadline = Date.now() + busyTimeout
  for (;;) {
    try {
      connection.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}

/** The last connection to close writes the log back into the file and removes it; none waits for that. */
async function closeDatabase(db: Database, connection: DatabaseSync): Promise<void> {
  await db.destroy()
  // Kysely does not reach its driver when no query ran.
  if (connection.isOpen) connection.close()
}
