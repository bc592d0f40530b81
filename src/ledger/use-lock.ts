import { isBusy, openDatabase } from '../system/sqlite.ts'

/**
 * How the lock of a ledger is held: `run` by any number of runs, for as long as they write; `rewrite` by one
 * process, while there is no run.
 */
type Use = 'run' | 'rewrite'

/** The locks of SQLite, which the system releases if the process dies. The file remains empty. */
const statements: Record<Use, string> = {
  run: 'BEGIN; SELECT * FROM sqlite_schema',
  rewrite: 'BEGIN EXCLUSIVE',
}

/**
 * Acquires the lock of a ledger. A run waits up to 10 s for the end of a rewrite.
 * @param path of the lock file, in an existing directory
 * @returns releases it; undefined if other processes hold it
 * @throws Error of SQLite if the file cannot be used
 */
export function lockLedger(path: string, use: Use): (() => void) | undefined {
  const database = openDatabase(path, { timeout: use === 'run' ? 10_000 : 0 })
  try {
    database.exec(`PRAGMA journal_mode = memory; ${statements[use]}`)
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
  return () => database.close()
}
