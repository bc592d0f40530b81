import type { Clock } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import { TokenBuckets } from '../token-buckets.ts'

/** Limits how fast one network begins sign-ins, which requires no credential. */
export class SignInRateLimit {
  readonly #starts: TokenBuckets

  constructor(clock: Clock) {
    this.#starts = new TokenBuckets(clock, { burst: 200, perSecond: 20 })
  }

  /** @throws ApiError `rate_limited` */
  take(address: string): void {
    if (this.#starts.takeFor(address)) return
    throw new ApiError('rate_limited', 'Too many sign-ins from your network. Try again in a second', {
      retryAfter: 1,
    })
  }
}
