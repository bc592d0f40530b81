import { join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import type { Directories } from '../system/directories.ts'
import { waitForProcessLock } from '../system/process-lock.ts'
import { type CredentialOwner, digestOf } from './credential-store.ts'

/** Maximum wait, in ms, for another process that renews the same credential. */
const maxWait = 90_000

/**
 * Runs work on a credential under a lock that excludes other processes of this user.
 *
 * @throws Failure `storage` if the lock cannot be acquired; else the error of the work, or the signal's reason
 */
export async function withCredentialLock<T>(
  { locks }: Pick<Directories, 'locks'>,
  owner: CredentialOwner,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const release = await acquire(locks, owner, signal)
  try {
    return await work()
  } finally {
    release()
  }
}

async function acquire(
  locks: string,
  owner: CredentialOwner,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  const path = join(locks, `${digestOf(owner).slice(0, 32)}.lock`)
  let release: (() => void) | undefined
  try {
    release = await waitForProcessLock(path, { signal, maxWait })
  } catch (cause) {
    if (signal?.aborted) throw signal.reason
    throw new Failure('storage', `Cannot lock ${path}: ${describeSystemError(cause)}`, {
      hint: 'Set HOME to a directory that you can write to.',
      cause,
    })
  }
  if (release) return release
  throw new Failure('storage', 'Another chatctl process has held the lock of this credential for too long', {
    hint: `Try again. The other process holds the lock ${path}`,
  })
}
