import type { CredentialSource } from '../../client/client-options.ts'
import type { Failure } from '../../contract/failure.ts'
import type { CredentialOwner, CredentialStore, Storage } from '../../credentials/credential-store.ts'
import { isFresh, type StoredCredential, secretOf } from '../../credentials/stored-credential.ts'
import type { Clock } from '../../system/clock.ts'
import { commandLine } from '../command-line.ts'
import type { Context } from '../context.ts'
import { once } from '../once.ts'
import type { Output } from '../output/output.ts'
import type { Target } from '../target.ts'
import { noCredential } from './credential-in-use.ts'
import { ownerOf } from './credential-stores.ts'

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

/** The stored credential of the profile; undefined if another one is used. */
export function renewingCredentialOf(context: Context): RenewingCredential | undefined {
  const { stores, directories, output, signal, transport } = context
  const to = context.target()
  if (to.kind === 'local' || to.profile === undefined || isOtherInUse(to)) return undefined
  const store = stores.ofProfile(to.profile)
  const owner = ownerOf(to.profile, to.baseUrl)
  const onUnsaved = warnOfUnsaved(output, to.profile)
  return new RenewingCredential({
    owner,
    store,
    signal,
    clock: transport.clock,
    missing: () => noCredential(to),
    renew: (held, rejected) =>
      context.renewTokens({ directories, owner, store, held, rejected, transport, onUnsaved }),
  })
}

function isOtherInUse({ fromEnvironment, identity, command }: Extract<Target, { kind: 'remote' }>): boolean {
  return fromEnvironment !== undefined || identity !== undefined || command !== undefined
}

/** Says what renewed tokens that cannot be stored mean for the next command; this one has them. */
export function warnOfUnsaved(output: Output, profile: string | undefined) {
  return ({ message }: Failure, isSpent: boolean): Promise<void> =>
    output.warn(
      isSpent
        ? `The renewed sign-in could not be stored: ${message}. It may stay valid at the server until it expires. Sign in again with: ${commandLine('auth', 'login', '--profile', profile ?? '')}`
        : `The renewed token could not be stored: ${message}. The next command renews it again`,
    )
}
