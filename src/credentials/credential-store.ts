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
