import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import { networkOf } from './attempt-throttle.ts'

/** How many sign-ins a network may begin at once, and how many per second after that. */
const burst = 200
const perSecond = 20

/** Maximum number of networks that are tracked. The one that was idle for longest is removed first. */
const maxNetworks = 10_000

/** How many sign-ins a network has left, at a time of the monotonic clock. */
interface Allowance {
  left: number
  at: number
}

/**
 * Limits how fast one network begins sign-ins, which requires no credential. The state is in the memory of
 * the process: an anonymous request never writes to the database.
 */
export class SignInRateLimit {
  readonly #clock: Clock
  readonly #networks = new Map<string, Allowance>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws ApiError `rate_limited` */
  take(address: string): void {
    const network = networkOf(address)
    const at = this.#clock.monotonic()
    const known = this.#networks.get(network) ?? { left: burst, at }
    const left = Math.min(burst, known.left + ((at - known.at) / 1000) * perSecond)
    this.#networks.delete(network)
    this.#networks.set(network, { left: Math.max(0, left - 1), at })
    for (const oldest of this.#networks.keys()) {
      if (this.#networks.size <= maxNetworks) break
      this.#networks.delete(oldest)
    }
    if (left >= 1) return
    throw new ApiError('rate_limited', 'Too many sign-ins from your network. Try again in a second', {
      retryAfter: 1,
    })
  }
}
