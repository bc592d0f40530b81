import type { CredentialSource } from '../client/client-options.ts'
import type { Clock } from '../system/clock.ts'
import type { TemporaryCredential } from './credentials/credential-command.ts'
import { isFresh } from './credentials/stored-credential.ts'

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
