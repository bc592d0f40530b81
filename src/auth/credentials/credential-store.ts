import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { waitForProcessLock } from '../../system/files/process-lock.ts'
import type { StoredCredential } from './stored-credential.ts'

/** Identifies a credential. It is only sent to this origin, even if the profile changes. */
export interface CredentialOwner {
  /** Origin of the base URL, as `https://chat.example`. */
  origin: string
  /** The name, for messages. */
  profile: string
  /** The ID of the profile. */
  id: string
}

export type Storage = 'keychain' | 'file'

/** Stores one credential per owner. All methods reject with a `Failure`. */
export interface CredentialStore {
  readonly storage: Storage
  /**
   * Checks before a sign-in whether a credential can be stored, without a dialog. A store implements it if a
   * successful read does not imply that.
   * @throws Failure `unauthorized` if a credential certainly cannot be stored
   */
  demandPlace?(owner: CredentialOwner): Promise<void>
  read(owner: CredentialOwner, signal?: AbortSignal): Promise<StoredCredential | undefined>
  /** Replaces an existing credential. */
  write(owner: CredentialOwner, credential: StoredCredential, signal?: AbortSignal): Promise<void>
  /** @returns whether a credential existed */
  delete(owner: CredentialOwner, signal?: AbortSignal): Promise<boolean>
}

export function serviceAttributeOf({ origin }: CredentialOwner): string {
  return `chatctl:${origin}`
}

/** SHA-256 in hex for file names, because origins and profiles may contain other characters. */
export function digestOf(owner: CredentialOwner): string {
  // Loaded on demand: node:crypto slows down the startup, and few commands need it.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(`${serviceAttributeOf(owner)}\0${owner.id}`)
    .digest('hex')
}

/** Maximum wait, in ms, for another process that renews the same credential. */
const maxWait = 90_000

/**
 * Runs work on a credential under a lock that excludes other processes of this user.
 * @throws Failure `storage` if the lock cannot be acquired; else the error of the work, or the signal's reason
 */
export async function withCredentialLock<T>(
  { locks }: Pick<Directories, 'locks'>,
  owner: CredentialOwner,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(locks, `${digestOf(owner).slice(0, 32)}.lock`)
  let release: (() => void) | undefined
  try {
    release = await waitForProcessLock(path, { signal, maxWait })
  } catch (cause) {
    if (signal?.aborted) throw signal.reason
    const hint = 'Set HOME to a directory that you can write to.'
    throw systemFailure(`Cannot lock ${path}`, cause, hint)
  }
  if (!release) {
    const hint = `Try again. The other process holds the lock ${path}`
    const words = 'Another chatctl process has held the lock of this credential for too long'
    throw new Failure('storage', words, { hint })
  }
  try {
    return await work()
  } finally {
    release()
  }
}
