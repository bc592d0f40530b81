import { accessSync, closeSync, constants, fchownSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { systemClock } from '../../../system/clock.ts'
import { makePrivateDirectory } from '../../../system/files/private-directory.ts'
import { isBusy, openDatabase } from '../../../system/sqlite.ts'
import {
  dataInUse,
  type Migrated,
  type Migration,
  type MigrationRule,
  migrations,
  refuseOlderSchema,
} from '../migrations.ts'
import { storageFailure } from '../storage-failure.ts'
import type { Database, Store, Tables } from '../tables.ts'
import { migrateSqlite, schemaVersion } from './migrate-sqlite.ts'
import { SqliteCounters } from './sqlite-counters.ts'
import { closeBoth, createSqliteDialect, type SqliteConnections } from './sqlite-dialect.ts'

export interface SqliteStore extends Store {
  /** The connection that writes, for pragmas. */
  connection: DatabaseSync
}

/** How long, in ms, opening waits for other processes. */
const busyTimeout = 10_000

export const databaseFile = (directory: string): string => join(resolve(directory), 'chatctl.db')

/**
 * Opens the database in a data directory. Creates both if they are missing, with modes 0700 and 0600. Before a
 * migration, a copy of older data is written beside it.
 * @throws Failure `storage`, which names the directory or the file; `conflict` for older data that is in use
 */
export function openSqlite(
  directory: string,
  wanted: readonly Migration[] = migrations,
  rule?: MigrationRule,
): SqliteStore {
  const file = databaseFile(directory)
  let writer: DatabaseSync | undefined
  let reader: DatabaseSync | undefined
  try {
    makePrivateDirectory(resolve(directory))
    // SQLite would create the file with the mode of the umask; -wal and -shm get the mode of the file.
    requireWritableFile(file)
    const open = () => openDatabase(file, { timeout: busyTimeout, enableForeignKeyConstraints: true })
    writer = open()
    const version = schemaVersion(writer, file, wanted)
    refuseOlderSchema(version, wanted, file, rule)
    let backup: string | undefined
    if (version > 0 && version < wanted.length) {
      // Its own lock would count as use.
      writer.close()
      const isUsed = rule !== 'always' && isInUse(file)
      writer = open()
      // The process that uses it may have migrated it.
      const isOlder = schemaVersion(writer, file, wanted) < wanted.length
      if (isOlder && isUsed) throw dataInUse(file)
      if (isOlder && rule !== 'rehearsal') backup = copyBeside(writer, file, version)
    }
    // Before the journal mode is set, because a file that is refused must not change.
    const migrated = migrateSqlite(writer, file, wanted, rule)
    prepare(writer)
    reader = openDatabase(file, { timeout: busyTimeout, readOnly: true })
    return createStore({ reader, writer }, file, migrated, backup)
  } catch (error) {
    if (reader?.isOpen) reader.close()
    if (writer?.isOpen) writer.close()
    throw storageFailure(error, resolve(directory), file)
  }
}

/** A new database that is deleted when it is closed. */
export function openInMemory(): Database {
  const connection = openDatabase(':memory:', { enableForeignKeyConstraints: true })
  migrateSqlite(connection, ':memory:')
  const dialect = createSqliteDialect({ reader: connection, writer: connection }, () => {})
  return new Kysely<Tables>({ dialect })
}

/**
 * Creates the file if it is missing. Does not open an existing one: to close it would release the locks of all
 * connections of this process (https://sqlite.org/howtocorrupt.html, section 2.2).
 * @throws if an existing file is not writable, or is a directory
 */
function requireWritableFile(file: string): void {
  try {
    makePrivateFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    accessSync(file, constants.W_OK)
    // A directory has no locks, and the error of the system names the cause.
    if (statSync(file).isDirectory()) closeSync(openSync(file, 'a'))
  }
}

/** Whether any process has the file open. SQLite holds a lock as long as it does, also in another container. */
export function isInUse(file: string): boolean {
  const database = openDatabase(file)
  try {
    database.exec('pragma locking_mode = exclusive; begin exclusive; rollback')
    return false
  } catch (error) {
    // A damaged file is not in use.
    return isBusy(error)
  } finally {
    database.close()
  }
}

/** Replaces the copy of an earlier attempt. @returns the path */
function copyBeside(database: DatabaseSync, file: string, version: number): string {
  const copy = join(dirname(file), `before-migration-from-${version}.db`)
  rmSync(copy, { force: true })
  makePrivateFile(copy)
  database.prepare('vacuum into ?').run(copy)
  return copy
}

function createStore(
  connections: SqliteConnections,
  file: string,
  migrated: Migrated | undefined,
  backup: string | undefined,
): SqliteStore {
  const { reader, writer } = connections
  // Counts the commits of all other connections to the file, including `writer`.
  const version = reader.prepare('pragma data_version')
  let known: number | undefined
  const forget = () => {
    known = undefined
  }
  const db = new Kysely<Tables>({ dialect: createSqliteDialect(connections, forget) })
  return {
    engine: 'sqlite',
    db,
    connection: writer,
    location: file,
    created: migrated?.from === 0,
    migrated,
    backup,
    // The pragma locks the file and costs as much as a query, so it runs once per turn of the event loop, and
    // once more after a commit of this process: the next request must find what the last one changed.
    generation() {
      if (known === undefined) {
        known = (version.get() as { data_version: number }).data_version
        setImmediate(forget)
      }
      return known
    },
    // A commit changes the version of the data.
    noteChange: () => {},
    openCounters: (warn) => new SqliteCounters(dirname(file), warn),
    async close() {
      await db.destroy()
      closeBoth(connections)
    },
  }
}

function prepare(connection: DatabaseSync): void {
  useWriteAheadLog(connection)
  connection.exec('pragma synchronous = full')
  // From now on, group-commit.ts waits for locks without blocking the thread.
  connection.exec('pragma busy_timeout = 0')
  // SQLite locks the file with the first read, and only then a restore knows that the data is in use.
  connection.exec('select number from migrations')
}

/** SQLite does not wait if several connections change the journal mode at the same time. */
function useWriteAheadLog(connection: DatabaseSync): void {
  const deadline = systemClock.monotonic() + busyTimeout
  for (;;) {
    try {
      connection.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}

/**
 * Creates an empty file with mode 0600. If root creates it, the owner of the directory becomes its owner,
 * and so of the further files of SQLite. Only a new file changes its owner, because an existing one may be
 * a link to any file.
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
