import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { waitForProcessLock } from '../../system/files/process-lock.ts'

/** What the lock of a service's settings needs. */
export interface LockOptions {
  directories: Directories
  signal: AbortSignal
  /** Called if another process holds the lock. */
  onWait(): void
  warn(words: string): void | Promise<void>
}

/** Maximum wait in ms: a PATCH may take its whole timeout, and then the settings are read back. */
const maxWait = 120_000

/**
 * Runs work under a lock on a service's settings, so that no concurrent chatctl process of this user overwrites a
 * change that it has not seen.
 *
 * @param service as `Plan.service`
 * @throws Failure `conflict` if another process holds the lock for too long; else the error of the work
 */
export async function withSettingsLock<T>(
  service: string,
  locking: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const release = await acquire(service, locking)
  try {
    return await work()
  } finally {
    release?.()
  }
}

/** @returns undefined if the lock cannot be used: a read-only home directory must not prevent the change */
async function acquire(
  service: string,
  { directories, signal, onWait, warn }: LockOptions,
): Promise<(() => void) | undefined> {
  const name = createHash('sha256').update(`settings ${service}`).digest('hex').slice(0, 32)
  let release: (() => void) | undefined
  try {
    const path = join(directories.locks, `${name}.lock`)
    release = await waitForProcessLock(path, { signal, maxWait, onWait })
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const why = cause instanceof Failure ? cause.message : describeSystemError(cause)
    await warn(
      `Cannot lock the settings, so another chatctl process on this machine may change them at the same time: ${why}`,
    )
    return undefined
  }
  if (release) return release
  throw new Failure(
    'conflict',
    'Another chatctl process has been changing the settings of this service for two minutes',
    {
      hint: 'Nothing was sent. Run the command again when the other process has ended.',
    },
  )
}
