import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../system/clock.ts'
import { isBusy, openDatabase } from '../../../system/sqlite.ts'
import {
  type Counters,
  type CountRequest,
  type CountResult,
  countColumns,
  countRequests,
  firstRow,
  type Warn,
} from '../counters.ts'

/** How long, in ms, to wait for a lock on the file. */
const lockTimeout = 5_000
/** How long, in ms, a file that could not be used is not tried again. */
const retryInterval = 1_000

/**
 * Counts in a separate file in the data directory, opened with the first count: in `chatctl.db`, each count would
 * count as a change of the data, and empty the caches of all processes. While the file cannot be used (a full
 * disk, a lock of another program), this process counts separately.
 */
export class SqliteCounters implements Counters {
  readonly #path: string
  readonly #warn: Warn
  #file: CountDatabase | undefined
  /** The counts of this process only, while those of all processes cannot be written. */
  #memory: CountDatabase | undefined
  /** When to try the file again. */
  #retryAt = 0

  constructor(directory: string, warn: Warn) {
    this.#path = join(directory, 'limits.db')
    this.#warn = warn
  }

  async count(requests: readonly CountRequest[]): Promise<CountResult[]> {
    if (this.#memory && systemClock.monotonic() < this.#retryAt) return this.#memory.count(requests)
    try {
      const taken = await this.#countInFile(requests)
      this.#memory?.close()
      this.#memory = undefined
      return taken
    } catch (error) {
      this.#file?.close()
      this.#file = undefined
      if (!this.#memory)
        this.#warn(`cannot use ${this.#path}: this process counts its requests separately`, error)
      this.#memory ??= new CountDatabase(':memory:')
      this.#retryAt = systemClock.monotonic() + retryInterval
      return this.#memory.count(requests)
    }
  }

  async close(): Promise<void> {
    this.#file?.close()
    this.#memory?.close()
    this.#file = undefined
    this.#memory = undefined
  }

  /** Waits for a lock itself, because SQLite would block the thread. */
  async #countInFile(requests: readonly CountRequest[]): Promise<CountResult[]> {
    const deadline = systemClock.monotonic() + lockTimeout
    for (;;) {
      try {
        this.#file ??= openFile(this.#path)
        return this.#file.count(requests)
      } catch (error) {
        if (!isBusy(error) || systemClock.monotonic() > deadline) throw error
      }
      await systemClock.sleep(1 + Math.random() * 4)
    }
  }
}

/** Creates the file with mode 0600 if it is missing. @throws errors of node:sqlite; busy immediately */
function openFile(path: string): CountDatabase {
  closeSync(openSync(path, 'a', 0o600))
  return new CountDatabase(path)
}

const schema = `
create table if not exists request_counts (
  key_id text primary key,
  hour integer not null,
  hour_count integer not null,
  minute integer not null,
  minute_count integer not null,
  hourly_limit integer not null,
  minute_limit integer not null,
  granted integer not null
) strict, without rowid`

const statement = countRequests(`values (${countColumns.map(() => '?').join(', ')})`, 'min', 'max')

/** The counts that all processes with this file share. */
class CountDatabase {
  readonly #database: DatabaseSync
  readonly #countOne: (request: CountRequest) => CountResult

  constructor(path: string) {
    this.#database = openDatabase(path, { timeout: 0 })
    try {
      // With `normal`, a crash of the machine loses the last counts; a crash of the process loses none.
      this.#database.exec(`pragma journal_mode = wal; pragma synchronous = normal; ${schema}`)
      const count = this.#database.prepare(statement)
      // Not `get`, which does not report a failed commit.
      this.#countOne = (request) => count.all(...firstRow(request))[0] as unknown as CountResult
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** @throws errors of node:sqlite; busy immediately, because waiting would block the thread */
  count(requests: readonly CountRequest[]): CountResult[] {
    if (requests.length === 1) return requests.map(this.#countOne)
    this.#database.exec('begin immediate')
    try {
      const taken = requests.map(this.#countOne)
      this.#database.exec('commit')
      return taken
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      throw error
    }
  }

  close(): void {
    this.#database.close()
  }
}
