import type { StoredCredential } from './stored-credential.ts'

/** Identifies a credential. It is only sent to this origin, even if the profile changes. */
export interface CredentialOwner {
  /** Origin of the base URL, as `https://chat.example`. */
  origin: string
  profile: string
}

export type Storage = 'keychain' | 'file'

/** Stores one credential per owner. All methods reject with a `Failure`. */
export interface CredentialStore {
  readonly storage: Storage
  /**
   * Checks before a sign-in whether a credential can be stored, without a dialog. A store implements it if a
   * successful read does not imply that.
   *
   * @throws Failure `unauthorized` if a credential certainly cannot be stored
   */
  demandPlace?(owner: CredentialOwner): Promise<void>
  read(owner: CredentialOwner, signal?: AbortSignal): Promise<StoredCredential | undefined>
  /** Replaces an existing credential. */
  write(owner: CredentialOwner, credential: StoredCredential, signal?: AbortSignal): Promise<void>
  /** @returns whether a credential existed */
  delete(owner: CredentialOwner, signal?: AbortSignal): Promise<boolean>
}

/** The service attribute of all credentials of an origin. */
export function serviceAttributeOf({ origin }: CredentialOwner): string {
  return `chatctl:${origin}`
}

/** SHA-256 in hex for file names, because origins and profiles may contain other characters. */
export function digestOf(owner: CredentialOwner): string {
  // Loaded on demand: node:crypto slows down the startup, and few commands need it.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(`${serviceAttributeOf(owner)}\0${owner.profile}`)
    .digest('hex')
}
