import { closeSync, existsSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { loadSqlite } from '../../../system/sqlite.ts'
import { type CountRequest, type CountResult, countColumns, countRequests, firstRow } from '../counters.ts'

/** An open file of request counts, which all processes on one data directory share. */
export interface LimitsFile {
  path: string
  /** @throws errors of node:sqlite; busy at once, because waiting would block the thread */
  count(requests: readonly CountRequest[]): CountResult[]
  close(): void
}

/** A file in an unknown format cannot be used and is treated like a damaged one. */
class UnknownFormat extends Error {}

export const isUnknownFormat = (error: unknown): boolean => error instanceof UnknownFormat

const version = 1
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
) strict, without rowid;
pragma user_version = ${version};`

const statement = countRequests(`values (${countColumns.map(() => '?').join(', ')})`, 'min', 'max')

/**
 * `limits.db`, or `limits-2.db` and so on after damage. A damaged file is not renamed: another process
 * that has it open would remove the log of the new file with its name when it closes the old one
 * (https://sqlite.org/howtocorrupt.html, section 4).
 */
export const limitsPath = (directory: string, number: number): string =>
  join(directory, number === 1 ? 'limits.db' : `limits-${number}.db`)

/** The number of the newest file; 1 if there is none. */
export function newestNumber(directory: string): number {
  const numbers = readdirSync(directory).map((name) => Number(/^limits-(\d{1,9})\.db$/.exec(name)?.[1] ?? 1))
  return Math.max(1, ...numbers)
}

/** Whether a process has found the file damaged and created the next one. */
export const isSuperseded = (directory: string, number: number): boolean =>
  existsSync(limitsPath(directory, number + 1))

/** Opens a file of request counts, or creates it with mode 0600. @throws errors of node:sqlite; busy at once */
export function openLimitsFile(path: string): LimitsFile {
  closeSync(openSync(path, 'a', 0o600))
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    prepare(database)
    const count = database.prepare(statement)
    const [begin, commit] = [database.prepare('begin immediate'), database.prepare('commit')]
    // Not `get`, which does not report a failed commit.
    const takeOne = (request: CountRequest) => count.all(...firstRow(request))[0] as unknown as CountResult
    return {
      path,
      count(requests) {
        if (requests.length === 1) return requests.map(takeOne)
        begin.run()
        try {
          const taken = requests.map(takeOne)
          commit.run()
          return taken
        } catch (error) {
          if (database.isTransaction) database.exec('rollback')
          throw error
        }
      },
      close: () => database.close(),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

function prepare(database: DatabaseSync): void {
  const { user_version: found } = database.prepare('pragma user_version').get() as { user_version: number }
  if (found !== 0 && found !== version) throw new UnknownFormat(`its user_version is ${found}`)
  database.exec('pragma journal_mode = wal')
  // A crash of the machine loses the last counts; a crash of the process loses none.
  database.exec('pragma synchronous = normal')
  if (found === 0) database.exec(`begin immediate; ${schema} commit`)
}
