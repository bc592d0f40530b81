import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import { networkOf } from './attempt-throttle.ts'

interface Capacity {
  /** How many requests are allowed at the same time, and how many per second after that. */
  burst: number
  perSecond: number
}

/** Maximum number of keys that are tracked. The least recently used one is removed first. */
const maxKeys = 10_000

/**
 * Limits how fast requests may come, with one token bucket for each key. The state is in the memory of the
 * process: a request without a credential writes nothing to the database for it.
 */
export class TokenBuckets {
  readonly #clock: Clock
  readonly #capacity: Capacity
  /** How many requests a key has left, at a time of the monotonic clock. */
  readonly #buckets = new Map<string, { left: number; at: number }>()

  constructor(clock: Clock, capacity: Capacity) {
    this.#clock = clock
    this.#capacity = capacity
  }

  /** @throws ApiError `rate_limited` for the network of an address */
  demandFor(address: string): void {
    if (this.takeFor(address)) return
    throw new ApiError('rate_limited', 'Too many sign-ins from your network. Try again in a second', {
      retryAfter: 1,
    })
  }

  /** The same for the network of an address. */
  takeFor(address: string): boolean {
    return this.take(networkOf(address))
  }

  /** @returns whether the request is allowed */
  take(key: string): boolean {
    const { burst, perSecond } = this.#capacity
    const at = this.#clock.monotonic()
    const known = this.#buckets.get(key) ?? { left: burst, at }
    const left = Math.min(burst, known.left + ((at - known.at) / 1000) * perSecond)
    this.#buckets.delete(key)
    this.#buckets.set(key, { left: left < 1 ? left : left - 1, at })
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= maxKeys) break
      this.#buckets.delete(oldest)
    }
    return left >= 1
  }
}
