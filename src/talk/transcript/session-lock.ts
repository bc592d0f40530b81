import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { tryProcessLock } from '../../system/process-lock.ts'
import { sessionIdOf } from './session-id.ts'
import { withStorage } from './storage.ts'

/**
 * Sees to it that one process writes a transcript.
 *
 * @param path of the transcript
 * @returns what gives the lock back and leaves no file
 * @throws Failure `conflict` where another process has it; `storage` where there can be no lock
 */
export function lockSession(path: string): () => void {
  const lock = `${path}.lock`
  return withStorage(path, 'written', () => {
    for (;;) {
      makeFile(lock)
      const before = inodeOf(lock)
      const release = tryProcessLock(lock)
      if (!release) throw openElsewhere(path)
      // Its holder removes the file: a lock on one that is gone excludes nobody.
      if (before !== undefined && inodeOf(lock) === before) return () => giveBack(lock, release)
      release()
    }
  })
}

/** A file that is there is not opened: see `tryProcessLock`. */
function makeFile(lock: string): void {
  if (!existsSync(lock)) closeSync(openSync(lock, 'a', 0o600))
}

function inodeOf(lock: string): bigint | undefined {
  return statSync(lock, { bigint: true, throwIfNoEntry: false })?.ino
}

/** Windows removes no file that is open; elsewhere it has to go while nobody else can hold it. */
function giveBack(lock: string, release: () => void): void {
  const windows = process.platform === 'win32'
  if (!windows) remove(lock)
  release()
  if (windows) remove(lock)
}

function remove(lock: string): void {
  try {
    rmSync(lock, { force: true })
  } catch {
    // An empty file that stays is in nobody's way.
  }
}

function openElsewhere(path: string): Failure {
  return new Failure('conflict', `The session ${sessionIdOf(path)} is open in another chatctl`, {
    advice: [{ code: 'close_session' }],
  })
}
