import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../contract/failure.ts'
import { loadSqlite } from './load-sqlite.ts'
import { makePrivateDirectory } from './private-directory.ts'

/** SQLite's result code for a lock that is held elsewhere. */
const busy = 5

/**
 * Takes a lock that the system takes back from a process that dies, however it dies: SQLite's, on
 * an empty database. Two locks on one path exclude each other within one process, too. The file is
 * removed when the lock is given back; one that a killed process has left holds nobody up.
 *
 * @param path of the lock, in a directory that exists; nobody else may open that file, for where one
 *   process closes it, POSIX has the process lose its locks on it (fcntl(2))
 * @returns what gives the lock back, to be kept until then; undefined where another one holds it
 * @throws Error of the system or of SQLite where there can be no lock
 */
export function tryProcessLock(path: string): (() => void) | undefined {
  const { DatabaseSync } = loadSqlite()
  for (;;) {
    createOwn(path)
    const before = inodeOf(path)
    let opened: import('node:sqlite').DatabaseSync | undefined
    try {
      opened = new DatabaseSync(path)
      // Without a journal: its file would stay where the process is killed.
      opened.exec('PRAGMA journal_mode = memory; BEGIN EXCLUSIVE')
    } catch (error) {
      opened?.close()
      if ((error as { errcode?: number }).errcode === busy) return undefined
      throw error
    }
    const database = opened
    // The holder before has removed the file: a lock on a removed file excludes nobody.
    if (before !== undefined && inodeOf(path) === before) return () => giveBack(path, database)
    database.close()
  }
}

interface Waiting {
  signal?: AbortSignal | undefined
  /** Milliseconds. */
  patience: number
  /** Called once where the lock is held elsewhere. */
  onWait?: (() => void) | undefined
}

/**
 * Takes a lock as soon as no other one holds it. Makes its directory.
 *
 * @returns as `tryProcessLock`; undefined where another one has held it for all that time
 * @throws as `tryProcessLock`; the signal's reason
 */
export async function waitForProcessLock(
  path: string,
  { signal, patience, onWait }: Waiting,
): Promise<(() => void) | undefined> {
  makePrivateDirectory(dirname(path))
  const deadline = performance.now() + patience
  for (let attempt = 0; ; attempt++) {
    const release = tryProcessLock(path)
    if (release || performance.now() > deadline) return release
    if (attempt === 0) onWait?.()
    await sleep(10 + Math.random() * 20, undefined, signal ? { signal } : {}).catch((error) => {
      throw signal?.aborted ? signal.reason : error
    })
  }
}

/** In ms: hundreds of processes may begin at once. */
const patienceForFile = 30_000

/**
 * Reads and writes a file with no other chatctl in between: of two that each read, change and
 * replace it, one change would be lost.
 *
 * @param path of the file; its directory must exist
 * @param change must not wait for anything, for others wait for it
 * @param patience how long, in ms, to wait for other processes that change the same file
 * @throws Failure `storage` when another process holds the lock for too long, or when it cannot be
 *   opened; Error of the system where the directory cannot be written
 */
export async function withFileLock(
  path: string,
  change: () => void,
  patience = patienceForFile,
): Promise<void> {
  const lock = `${path}.lock`
  let release: (() => void) | undefined
  try {
    // A lock that is free is taken before this returns to its caller.
    release = tryProcessLock(lock) ?? (await waitForProcessLock(lock, { patience }))
  } catch (cause) {
    if ((cause as { errcode?: number }).errcode === undefined) throw cause
    // SQLite's error is of the file, as when root was killed while it held the lock.
    throw new Failure('storage', `Cannot open the lock ${lock}`, {
      hint: 'If no other chatctl process is running, remove the file.',
      cause,
    })
  }
  if (!release) {
    throw new Failure('storage', `Another chatctl process is changing ${path}`, {
      hint: `Try again. The other process holds the lock ${lock}`,
    })
  }
  try {
    change()
  } finally {
    release()
  }
}

/** SQLite would let others read it. One that exists is not opened: see `tryProcessLock`. */
function createOwn(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino
}

/** Windows removes no file that is open; elsewhere it has to go while nobody else can hold it. */
function giveBack(path: string, database: import('node:sqlite').DatabaseSync): void {
  const windows = process.platform === 'win32'
  if (!windows) removeQuietly(path)
  database.close()
  if (windows) removeQuietly(path)
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // An empty file that stays is in nobody's way.
  }
}
