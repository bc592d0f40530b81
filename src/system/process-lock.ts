import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSqlite } from './load-sqlite.ts'

/** SQLite's result code for "another one has it". */
const busy = 5

/**
 * Takes a lock that the system takes back from a process that dies, however it dies: SQLite's, on
 * an empty database. Two locks on one path exclude each other within one process, too.
 *
 * @param path of the lock, in a folder that is there; nobody else may open that file, for where one
 *   process closes it, POSIX has the process lose its locks on it (fcntl(2))
 * @returns what gives the lock back; undefined where another one has it
 * @throws Error of SQLite where there can be no lock
 */
export function tryProcessLock(path: string): (() => void) | undefined {
  const { DatabaseSync } = loadSqlite()
  let database: import('node:sqlite').DatabaseSync | undefined
  try {
    createOwn(path)
    const opened = new DatabaseSync(path)
    database = opened
    opened.exec('BEGIN EXCLUSIVE')
    return () => opened.close()
  } catch (error) {
    database?.close()
    if ((error as { errcode?: number }).errcode === busy) return undefined
    throw error
  }
}

interface Waiting {
  signal: AbortSignal | undefined
  /** Milliseconds. */
  patience: number
  /** Told once where another one holds the lock. */
  onWait?: (() => void) | undefined
}

/**
 * Takes a lock as soon as no other one holds it.
 *
 * @returns as `tryProcessLock`; undefined where another one has held it for all that time
 * @throws as `tryProcessLock`; the signal's reason
 */
export async function waitForProcessLock(
  path: string,
  { signal, patience, onWait }: Waiting,
): Promise<(() => void) | undefined> {
  const deadline = Date.now() + patience
  for (let attempt = 0; ; attempt++) {
    const release = tryProcessLock(path)
    if (release || Date.now() > deadline) return release
    if (attempt === 0) onWait?.()
    await sleep(20 + Math.random() * 30, undefined, signal ? { signal } : {}).catch((error) => {
      throw signal?.aborted ? signal.reason : error
    })
  }
}

/** SQLite would let others read it. One that is there is not opened: see above. */
function createOwn(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
