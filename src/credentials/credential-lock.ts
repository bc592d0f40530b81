import { join } from 'node:path'
import { lockFolder } from '../config/paths.ts'
import { Failure } from '../failure.ts'
import { waitForProcessLock } from '../process-lock.ts'
import { makePrivateFolder } from '../system/make-private-folder.ts'
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
  let release: (() => void) | undefined
  try {
    makePrivateFolder(lockFolder())
    release = await waitForProcessLock(path, { signal, patience })
  } catch (cause) {
    if (signal?.aborted) throw signal.reason
    throw new Failure('storage', `${path} cannot be used as a lock: ${systemWords(cause)}`, {
      hint: 'Give HOME a folder that you may write to.',
      cause,
    })
  }
  if (release) return release
  throw new Failure('storage', 'Another chatctl has been renewing this sign-in for too long', {
    hint: `Try again. It holds ${path}`,
  })
}
