import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/directories.ts'
import { waitForProcessLock } from '../../system/process-lock.ts'

/** What a change of a service's settings needs of its surroundings. */
export interface Locking {
  directories: Directories
  signal: AbortSignal
  /** Told where another process changes them at this moment. */
  onWait(): void
  warn(words: string): void | Promise<void>
}

/** Milliseconds. A PATCH takes up to its timeout, and is then read back for a while. */
const patience = 120_000

/**
 * Does work on a service's settings while no other chatctl of this user does: else one could read,
 * the other change, and the first overwrite that change without having seen it.
 *
 * @param service as `Plan.service`
 * @throws Failure `conflict` where another process holds the lock for too long; else what the work throws
 */
export async function withSettingsLock<T>(
  service: string,
  locking: Locking,
  work: () => Promise<T>,
): Promise<T> {
  const release = await acquire(service, locking)
  try {
    return await work()
  } finally {
    release?.()
  }
}

/** @returns undefined where there can be no lock: a read-only home must not prevent the change */
async function acquire(
  service: string,
  { directories, signal, onWait, warn }: Locking,
): Promise<(() => void) | undefined> {
  const name = createHash('sha256').update(`settings ${service}`).digest('hex').slice(0, 32)
  let release: (() => void) | undefined
  try {
    const path = join(directories.locks, `${name}.lock`)
    release = await waitForProcessLock(path, { signal, patience, onWait })
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
