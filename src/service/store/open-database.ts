import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { loadSqlite } from '../../load-sqlite.ts'
import { type Migration, migrate, migrations } from './migrate.ts'
import { createDialect } from './node-sqlite-dialect.ts'
import { isBusy, storageFailure } from './storage-failure.ts'
import type { Database, Tables } from './tables.ts'

export interface OpenDatabase {
  db: Database
  /** The same connection, for pragmas. */
  connection: DatabaseSync
  file: string
  /** This call made the data; another process opening the same empty folder gets false. */
  created: boolean
  close(): Promise<void>
}

/** How long, in ms, a writer waits for writers in other processes. */
const busyTimeout = 10_000

export const databaseFile = (folder: string): string => join(resolve(folder), 'chatctl.db')

/**
 * Opens the database in a data folder, making both when missing: the folder 0700, the file 0600.
 * @throws Failure `storage`, with the folder or the file named
 */
export function openDatabase(folder: string, wanted: readonly Migration[] = migrations): OpenDatabase {
  const file = databaseFile(folder)
  let connection: DatabaseSync | undefined
  try {
    mkdirSync(resolve(folder), { recursive: true, mode: 0o700 })
    // SQLite would make the file with the umask's mode; its -wal and -shm take the file's own.
    closeSync(openSync(file, 'a', 0o600))
    const { DatabaseSync } = loadSqlite()
    connection = new DatabaseSync(file, { timeout: busyTimeout, enableForeignKeyConstraints: true })
    const created = prepare(connection, file, wanted)
    const db = new Kysely<Tables>({ dialect: createDialect(connection, file) })
    return { db, connection, file, created, close: () => closeDatabase(db, connection as DatabaseSync) }
  } catch (error) {
    connection?.close()
    throw storageFailure(error, resolve(folder), file)
  }
}

function prepare(connection: DatabaseSync, file: string, wanted: readonly Migration[]): boolean {
  // Migrated before the journal mode is set: a file that is refused must stay as it was.
  const created = migrate(connection, file, wanted)
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
