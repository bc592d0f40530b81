import type { DatabaseSync } from 'node:sqlite'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from './describe-system-error.ts'
import { loadSqlite } from './sqlite.ts'

/**
 * Opens a temporary SQLite database, for data that may not fit into memory. What exceeds its cache is in an
 * unlinked file in the temporary directory.
 *
 * @param memory size of the cache in bytes
 */
export function openTemporaryDatabase(memory: number): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync('')
  database.exec(`
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -${memory / 1024}`)
  return database
}

/** Runs statements of a temporary database. @throws Failure `storage` */
export function inTemporaryDatabase<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new Failure('storage', `Cannot use the temporary directory: ${describeSystemError(cause)}`, {
      hint: 'chatctl stores emails and ids there if they do not fit into memory. To use another directory, set TMPDIR.',
      cause,
    })
  }
}
