import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { loadSqlite } from '../../../system/load-sqlite.ts'
import { makePrivateDirectory } from '../../../system/private-directory.ts'
import { type Migration, migrations } from '../migrations/migrations.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { migrateSqlite } from './migrate-sqlite.ts'
import { SqliteCounters } from './sqlite-counters.ts'
import { closeBoth, createSqliteDialect, type SqliteConnections } from './sqlite-dialect.ts'
import { isBusy, sqliteFailure } from './sqlite-errors.ts'

export interface SqliteStore extends Store {
  /** The connection that writes, for pragmas. */
  connection: DatabaseSync
}

/** How long, in ms, opening waits for other processes. */
const busyTimeout = 10_000

export const databaseFile = (directory: string): string => join(resolve(directory), 'chatctl.db')

/**
 * Opens the database in a data folder, making both when missing: the folder 0700, the file 0600.
 * @throws Failure `storage`, with the folder or the file named
 */
export function openSqlite(directory: string, wanted: readonly Migration[] = migrations): SqliteStore {
  const file = databaseFile(directory)
  let writer: DatabaseSync | undefined
  let reader: DatabaseSync | undefined
  try {
    makePrivateDirectory(resolve(directory))
    // SQLite would make the file with the umask's mode; its -wal and -shm take the file's own.
    requireWritableFile(file)
    const { DatabaseSync } = loadSqlite()
    writer = new DatabaseSync(file, { timeout: busyTimeout, enableForeignKeyConstraints: true })
    const created = prepare(writer, file, wanted)
    reader = new DatabaseSync(file, { timeout: busyTimeout, readOnly: true })
    return createStore({ reader, writer }, file, created)
  } catch (error) {
    reader?.close()
    writer?.close()
    throw sqliteFailure(error, resolve(directory), file)
  }
}

/** Makes the file when it is missing; says of one that is there whether it may be written. */
function requireWritableFile(file: string): void {
  try {
    makePrivateFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    closeSync(openSync(file, 'a'))
  }
}

function createStore(connections: SqliteConnections, file: string, created: boolean): SqliteStore {
  const { reader, writer } = connections
  const db = new Kysely<Tables>({ dialect: createSqliteDialect(connections) })
  // Counts the commits of all other connections to the file, our own writer's among them.
  const version = reader.prepare('pragma data_version')
  let known: number | undefined
  return {
    engine: 'sqlite',
    db,
    connection: writer,
    location: file,
    created,
    // The file is locked to be asked, which costs as much as a query: once a turn of the event loop will do.
    generation() {
      if (known === undefined) {
        known = (version.get() as { data_version: number }).data_version
        setImmediate(() => {
          known = undefined
        })
      }
      return known
    },
    openCounters: (warn) => new SqliteCounters(dirname(file), warn),
    async close() {
      await db.destroy()
      closeBoth(connections)
    },
  }
}

function prepare(connection: DatabaseSync, file: string, wanted: readonly Migration[]): boolean {
  // Migrated before the journal mode is set: a file that is refused must stay as it was.
  const created = migrateSqlite(connection, file, wanted)
  useWriteAheadLog(connection)
  connection.exec('pragma synchronous = full')
  // From now on a lock is waited for without blocking the thread (group-commit.ts).
  connection.exec('pragma busy_timeout = 0')
  return created
}

/** SQLite does not wait by itself when several connections change the journal mode at once. */
function useWriteAheadLog(connection: DatabaseSync): void {
  const deadline = performance.now() + busyTimeout
  for (;;) {
    try {
      connection.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}

/**
 * Makes an empty file of 0600. What root makes in somebody else's folder is theirs, so that they can
 * use it: SQLite's further files take the file's owner. Only a file that is new is given away, for
 * one that lies there already may be a link to anything.
 * @throws EEXIST
 */
export function makePrivateFile(file: string): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    const { uid, gid } = statSync(dirname(file))
    if (process.geteuid?.() === 0 && uid !== 0) fchownSync(descriptor, uid, gid)
  } finally {
    closeSync(descriptor)
  }
}
