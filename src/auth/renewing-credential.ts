import type { CredentialSource } from '../client/client-options.ts'
import type { Failure } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'
import { once } from '../system/once.ts'
import type { CredentialOwner, CredentialStore, Storage } from './credentials/credential-store.ts'
import { isFresh, type StoredCredential, secretOf } from './credentials/stored-credential.ts'

interface RenewingCredentialOptions {
  owner: CredentialOwner
  store: CredentialStore
  /** Nobody is signed in. */
  missing: () => Failure
  signal: AbortSignal
  clock: Clock
  /** Gives another credential in place of one that has expired or was rejected. */
  renew: (held: StoredCredential, rejected: string | undefined) => Promise<StoredCredential>
}

/** The credential that a profile was signed in with, read once and renewed when that is due. */
export class RenewingCredential {
  readonly #options: RenewingCredentialOptions
  readonly #read: () => Promise<StoredCredential | undefined>
  #current: Promise<StoredCredential> | undefined

  constructor(options: RenewingCredentialOptions) {
    this.#options = options
    this.#read = once(() => options.store.read(options.owner, options.signal))
  }

  get profile(): string {
    return this.#options.owner.profile
  }

  get storage(): Storage {
    return this.#options.store.storage
  }

  /** As it is kept, perhaps expired. */
  stored(): Promise<StoredCredential | undefined> {
    return this.#current ?? this.#read()
  }

  /**
   * One that can be sent.
   *
   * @param rejected what the service has answered with 401
   * @throws Failure `unauthorized` where nobody is signed in
   */
  async usable(rejected?: string): Promise<StoredCredential> {
    this.#current ??= this.#demand()
    const credential = await this.#current
    const isRejected = secretOf(credential) === rejected
    if (credential.kind === 'api_key' || (!isRejected && isFresh(credential, this.#options.clock.now())))
      return credential
    this.#current = this.#options.renew(credential, isRejected ? rejected : undefined)
    return this.#current
  }

  readonly secret: CredentialSource = async (rejected) => secretOf(await this.usable(rejected))

  async #demand(): Promise<StoredCredential> {
    const credential = await this.#read()
    if (credential) return credential
    throw this.#options.missing()
  }
}
