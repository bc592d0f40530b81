import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makePrivateFolder } from '../config/make-private-folder.ts'
import { lockFolder } from '../config/paths.ts'
import { Failure } from '../failure.ts'
import { tryProcessLock } from '../process-lock.ts'
import { systemWords } from '../system-words.ts'
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
  return join(lockFolder(), `${digestOf(owner).slice(0, 32)}.lock`)
}

async function acquire(path: string, signal: AbortSignal | undefined): Promise<() => void> {
  const deadline = Date.now() + patience
  for (;;) {
    const release = tryAcquire(path)
    if (release) return release
    if (Date.now() > deadline) {
      throw new Failure('storage', 'Another chatctl has been renewing this sign-in for too long', {
        hint: `Try again. It holds ${path}`,
      })
    }
    await sleep(20 + Math.random() * 30, undefined, signal ? { signal } : {}).catch((error) => {
      throw signal?.aborted ? signal.reason : error
    })
  }
}

function tryAcquire(path: string): (() => void) | undefined {
  try {
    makePrivateFolder(lockFolder())
    return tryProcessLock(path)
  } catch (cause) {
    throw new Failure('storage', `${path} cannot be used as a lock: ${systemWords(cause)}`, {
      hint: 'Give HOME a folder that you may write to.',
      cause,
    })
  }
}
