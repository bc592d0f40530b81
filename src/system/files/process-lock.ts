import { closeSync, futimesSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure, type Help } from '../../contract/failure.ts'
import { systemClock } from '../clock.ts'
import { isBusy, openDatabase, primaryCode, sqliteCodes, sqliteUrl } from '../sqlite.ts'
import { makePrivateDirectory } from './private-directory.ts'
import { removeQuietly } from './replace-file.ts'

/**
 * Acquires a lock that the system releases if the process dies: the lock of SQLite on an empty database.
 * Two locks on one path also exclude each other within a process. Releasing the lock removes the file; a
 * file left by a killed process does not block others.
 * @param path of the lock file, in an existing directory. No other code may open this file: when a process
 *   closes it, POSIX drops all locks of the process on it (fcntl(2)).
 * @returns the function that releases the lock; undefined if another process holds it
 * @throws Error of the system or of SQLite if the lock file cannot be used
 */
export function tryProcessLock(path: string): (() => void) | undefined {
  for (;;) {
    createOwn(path)
    const before = identityOf(path)
    // Another process has removed the file.
    if (before === undefined) continue
    let opened: import('node:sqlite').DatabaseSync | undefined
    try {
      opened = openDatabase(existingFile(path))
      // In memory, because a killed process would leave the journal file.
      opened.exec('PRAGMA journal_mode = memory; BEGIN EXCLUSIVE')
    } catch (error) {
      opened?.close()
      if (isBusy(error)) return undefined
      if (primaryCode(error) === sqliteCodes.cannotOpen && identityOf(path) !== before) continue
      throw error
    }
    const database = opened
    // The previous holder removed the file, and a lock on a removed file excludes no other process.
    if (identityOf(path) === before) return () => giveBack(path, database)
    database.close()
  }
}

/**
 * Acquires a lock.
 * @returns releases it
 * @throws Failure `conflict` with this message if another process holds it; else as `tryProcessLock`
 */
export function demandProcessLock(path: string, message: string, help: Help): () => void {
  const release = tryProcessLock(path)
  if (release) return release
  throw new Failure('conflict', message, help)
}

interface WaitOptions {
  signal?: AbortSignal | undefined
  /** In ms. */
  maxWait: number
  /** Called once if another process holds the lock. */
  onWait?: (() => void) | undefined
}

/**
 * Waits until the lock is free and acquires it. Creates its directory.
 * @returns as `tryProcessLock`; undefined if another process held the lock for all of `maxWait`
 * @throws as `tryProcessLock`; the signal's reason
 */
export async function waitForProcessLock(
  path: string,
  { signal, maxWait, onWait }: WaitOptions,
): Promise<(() => void) | undefined> {
  makePrivateDirectory(dirname(path))
  const deadline = systemClock.monotonic() + maxWait
  for (let attempt = 0; ; attempt++) {
    const release = tryProcessLock(path)
    if (release || systemClock.monotonic() > deadline) return release
    if (attempt === 0) onWait?.()
    await systemClock.sleep(10 + Math.random() * 20, signal)
  }
}

/** In ms. Hundreds of processes may start at the same time. */
const maxFileWait = 30_000

/**
 * Runs a read-modify-write of a file under a lock, so that concurrent chatctl processes do not lose changes.
 * @param path of the file; its directory must exist
 * @param change must not wait, because other processes wait for the lock
 * @param maxWait maximum wait for the lock, in ms
 * @throws Failure `storage` if another process holds the lock for too long, or if the lock file cannot be
 *   opened; Error of the system if the directory is not writable
 */
export async function withFileLock(path: string, change: () => void, maxWait = maxFileWait): Promise<void> {
  const lock = `${path}.lock`
  let release: (() => void) | undefined
  try {
    // If the lock is free, it is acquired synchronously.
    release = tryProcessLock(lock) ?? (await waitForProcessLock(lock, { maxWait }))
  } catch (cause) {
    if (primaryCode(cause) === undefined) throw cause
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

/**
 * Creates the file with a random modification time. The inode of a removed file is soon used again, often
 * for the next lock file, so it does not tell one file from another. An existing file is not opened: see
 * `tryProcessLock`.
 */
function createOwn(path: string): void {
  let descriptor: number
  try {
    descriptor = openSync(path, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  try {
    // The Web Crypto API takes 3 ms to load.
    const time = Math.random() * 2 ** 31
    futimesSync(descriptor, time, time)
  } finally {
    closeSync(descriptor)
  }
}

/** Changes if the file is removed and created again. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.ino} ${stats.mtimeNs}`
}

/** SQLite would create a missing file with a wider mode and without a random time. */
function existingFile(path: string): URL {
  const url = sqliteUrl(path)
  url.searchParams.set('mode', 'rw')
  return url
}

/** Windows cannot remove an open file. Elsewhere, the file must be removed while the lock is still held. */
function giveBack(path: string, database: import('node:sqlite').DatabaseSync): void {
  const windows = process.platform === 'win32'
  if (!windows) removeQuietly(path)
  database.close()
  if (windows) removeQuietly(path)
}
