import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../contract/failure.ts'

/**
 * How long, in ms, to wait for other processes that change the same file: hundreds may begin at once,
 * and one that died is found out before this is over.
 */
const patience = 30_000

/** A lock of this age, in ms, was left by a process that died: a change takes milliseconds. */
const abandoned = 10_000

/**
 * Reads and writes a file with no other chatctl in between: of two that each read, change and
 * replace it, one change would be lost.
 *
 * @param path of the file; its folder must be there
 * @param change must not wait for anything, for its time is another's waiting
 * @throws Failure `storage` when another process holds the lock for too long
 */
export async function withFileLock(path: string, change: () => void): Promise<void> {
  const lock = `${path}.lock`
  const deadline = performance.now() + patience
  while (!tryLock(lock)) {
    if (performance.now() > deadline) {
      throw new Failure('storage', `${path} is being changed by another chatctl`, {
        hint: `If none is running, remove ${lock}`,
      })
    }
    await sleep(10 + Math.random() * 20)
  }
  try {
    change()
  } finally {
    rmSync(lock, { force: true })
  }
}

function tryLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (since !== undefined && Date.now() - since > abandoned) rmSync(lock, { force: true })
    return false
  }
}
