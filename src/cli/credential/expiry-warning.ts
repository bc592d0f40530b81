import type { HeldCredential } from '../../auth/held-credential.ts'
import type { RenewingCredential } from '../../auth/renewing-credential.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import { roundDuration } from '../../config/units.ts'
import type { Clock } from '../../system/clock.ts'
import type { Target } from '../context/target.ts'
import type { Output } from '../output/output.ts'

/** A week, in ms. */
const notice = 7 * 86_400_000

interface Sources {
  signedIn: RenewingCredential | undefined
  held: HeldCredential | undefined
}

/** Warns once in a run that its API key ends soon, if the service tells it. Tokens are renewed instead. */
export class ExpiryWarning {
  readonly #clock: Clock
  #expiresAt: string | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns what a client is to tell its events, which `observe` is told as well */
  follow(observe: ((event: ClientEvent) => void) | undefined): (event: ClientEvent) => void {
    return (event) => {
      if (event.type === 'response') this.#expiresAt = event.credentialExpiresAt ?? this.#expiresAt
      observe?.(event)
    }
  }

  /** After the last request, so that the warning does not interrupt a reply. */
  async warn(output: Output, target: Target, sources: Sources): Promise<void> {
    const left = this.#expiresAt === undefined ? Infinity : Date.parse(this.#expiresAt) - this.#clock.now()
    if (left <= 0 || left > notice || !(await isApiKey(target, sources))) return
    await output.warn(`The API key expires in ${roundDuration(left)}, at ${this.#expiresAt}.`)
  }
}

async function isApiKey(target: Target, { signedIn, held }: Sources): Promise<boolean> {
  if (target.kind === 'local') return false
  if (target.fromEnvironment) return true
  // A credential command that prints access tokens can say so.
  if (held) return held.current?.kind !== 'oauth'
  const stored = await signedIn?.stored().catch(() => undefined)
  return stored?.kind === 'api_key'
}
