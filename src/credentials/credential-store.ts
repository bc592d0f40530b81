import type { StoredCredential } from './stored-credential.ts'

/** Whose credential it is: it goes to this origin only, whatever becomes of the profile. */
export interface CredentialOwner {
  /** Origin of the base URL, as `https://chat.example`. */
  origin: string
  profile: string
}

export type Storage = 'keychain' | 'file'

/** A place that keeps one credential for each owner. Everything rejects with a `Failure`. */
export interface CredentialStore {
  readonly storage: Storage
  /**
   * Finds out before a sign-in whether a credential could be stored, if reading does not tell. Asks nobody.
   *
   * @throws Failure `unauthorized` where it is known that it could not
   */
  demandPlace?(owner: CredentialOwner): Promise<void>
  read(owner: CredentialOwner, signal?: AbortSignal): Promise<StoredCredential | undefined>
  /** Replaces what is there. */
  write(owner: CredentialOwner, credential: StoredCredential, signal?: AbortSignal): Promise<void>
  /** @returns whether there was one */
  delete(owner: CredentialOwner, signal?: AbortSignal): Promise<boolean>
}

/** The name under which all credentials of an origin are kept. */
export function serviceOf({ origin }: CredentialOwner): string {
  return `chatctl:${origin}`
}

/** A name for an owner's files: origins and profiles hold what file names may not. SHA-256, hex. */
export function digestOf(owner: CredentialOwner): string {
  // Loading it costs every start more than the rest of this layer; few commands name a file.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(`${serviceOf(owner)}\0${owner.profile}`)
    .digest('hex')
}
