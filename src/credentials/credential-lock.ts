import { join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { lockDirectory } from '../system/paths.ts'
import { waitForProcessLock } from '../system/process-lock.ts'
import { type CredentialOwner, digestOf } from './credential-store.ts'

/** How long, in ms, to wait for another process that renews the same credential. */
const patience = 90_000

/**
 * Does work on a credential while no other process of this user does.
 *
 * @throws Failure `storage` when no lock can be had; else what the work throws, or the signal's reason
 */
export async function withCredentialLock<T>(
  owner: CredentialOwner,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const release = await acquire(lockPath(owner), signal)
  try {
    return await work()
  } finally {
    release()
  }
}

function lockPath(owner: CredentialOwner): string {
  return join(lockDirectory(), `${digestOf(owner).slice(0, 32)}.lock`)
}

async function acquire(path: string, signal: AbortSignal | undefined): Promise<() => void> {
  let release: (() => void) | undefined
  try {
    release = await waitForProcessLock(path, { signal, patience })
  } catch (cause) {
    if (signal?.aborted) throw signal.reason
    throw new Failure('storage', `${path} cannot be used as a lock: ${describeSystemError(cause)}`, {
      hint: 'Give HOME a folder that you may write to.',
      cause,
    })
  }
  if (release) return release
  throw new Failure('storage', 'Another chatctl has been renewing this sign-in for too long', {
    hint: `Try again. It holds ${path}`,
  })
}
