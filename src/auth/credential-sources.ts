import type { CredentialSource } from '../client/client-options.ts'
import type { Failure } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'
import { once } from '../system/once.ts'
import type { TemporaryCredential } from './credentials/credential-command.ts'
import type { CredentialOwner, CredentialStore, Storage } from './credentials/credential-store.ts'
import { isFresh, type StoredCredential, secretOf } from './credentials/stored-credential.ts'

interface RenewingCredentialOptions {
  owner: CredentialOwner
  store: CredentialStore
  /** No user is signed in. */
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
   * @param rejected what the service has answered with 401
   * @throws Failure `unauthorized` if no user is signed in
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

/** A rejected credential is obtained again only after this time, in ms, because a new one would be the same. */
const retention = 60_000

/** A credential that is obtained with the first request, and held in memory until it expires or is rejected. */
export class HeldCredential {
  readonly #obtain: () => Promise<TemporaryCredential>
  readonly #clock: Clock
  #pending: Promise<TemporaryCredential> | undefined
  #held: { credential: TemporaryCredential; since: number } | undefined

  constructor(obtain: () => Promise<TemporaryCredential>, clock: Clock) {
    this.#obtain = obtain
    this.#clock = clock
  }

  /** Undefined before the first request. */
  get current(): TemporaryCredential | undefined {
    return this.#held?.credential
  }

  /** @param rejected what the service has answered with 401 */
  async usable(rejected?: string): Promise<TemporaryCredential> {
    const held = this.#held
    if (held) {
      const isRejected = held.credential.secret === rejected
      const isDue = isRejected
        ? this.#clock.monotonic() - held.since >= retention
        : !isFresh(held.credential, this.#clock.now())
      if (!isDue) return held.credential
    }
    this.#pending ??= this.#renew().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  readonly secret: CredentialSource = async (rejected) => (await this.usable(rejected)).secret

  async #renew(): Promise<TemporaryCredential> {
    const credential = await this.#obtain()
    this.#held = { credential, since: this.#clock.monotonic() }
    return credential
  }
}
