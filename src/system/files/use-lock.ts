import type { DatabaseSync } from 'node:sqlite'
import { isBusy, openDatabase } from '../sqlite.ts'

/**
 * How the lock of a file that several processes append to is held: `run` by any number of them, for as long as they
 * write; `claim` by one, beside the runs; `rewrite` by one process, while there is no run.
 */
type Use = 'run' | 'claim' | 'rewrite'

/** The locks of SQLite, which the system releases if the process dies. The database remains empty. */
const statements: Record<Use, string> = {
  run: 'BEGIN; SELECT * FROM sqlite_schema',
  claim: 'BEGIN IMMEDIATE',
  rewrite: 'BEGIN EXCLUSIVE',
}

export class UseLock {
  readonly #database: DatabaseSync

  /**
   * @param path of the file to lock, in an existing directory
   * @param timeout in ms, for which `hold` waits, and the process with it
   * @throws Error of SQLite if the lock file cannot be used
   */
  constructor(path: string, timeout = 0) {
    this.#database = openDatabase(`${path}.lock`, { timeout })
  }

  /** @returns false if another process holds it */
  hold(use: Use): boolean {
    try {
      this.#database.exec(`PRAGMA journal_mode = memory; ${statements[use]}`)
      return true
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }

  release(): void {
    if (this.#database.isOpen) this.#database.exec('ROLLBACK')
  }

  /** Also releases it. */
  close(): void {
    this.#database.close()
  }
}
