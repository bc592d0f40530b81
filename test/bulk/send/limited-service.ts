import type { ClientEvent } from '../../../src/client/client-event.ts'
import { Failure } from '../../../src/contract/failure.ts'
import type { Clock } from '../../../src/system/clock.ts'

export interface LimitedServiceOptions {
  clock: Clock
  limit: number
  /** Milliseconds. The first window begins with the service. */
  window: number
  /** The headers of a response about the quota. None by default. */
  headers?: (quota: { limited: boolean; remaining: number; reset: number }) => Record<string, string>
  /** The duration of a request in milliseconds. */
  latency?: () => number
  observe?: (event: ClientEvent) => void
}

/** A service with a quota, behind the events of a client, on the clock of a test. */
export class LimitedService {
  taken = 0
  refused = 0
  mostAtOnce = 0
  /** When each request arrived, in milliseconds since the service began. */
  readonly arrivals: number[] = []
  readonly #options: LimitedServiceOptions
  readonly #start: number
  #window = -1
  #used = 0
  #atOnce = 0

  constructor(options: LimitedServiceOptions) {
    this.#options = options
    this.#start = options.clock.now()
  }

  get elapsed(): number {
    return this.#options.clock.now() - this.#start
  }

  /** Sends one request. */
  request = async (): Promise<void> => {
    const { clock, limit, window, headers, latency, observe } = this.#options
    const about = { method: 'POST', url: 'https://chat.example/v1/users', attempt: 1 }
    observe?.({ ...about, type: 'request' })
    this.#atOnce++
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce)
    this.arrivals.push(this.elapsed)
    const number = Math.floor(this.elapsed / window)
    if (number !== this.#window) this.#used = 0
    this.#window = number
    const limited = this.#used >= limit
    if (limited) this.refused++
    else this.taken++
    if (!limited) this.#used++
    const quota = { limited, remaining: limit - this.#used, reset: (number + 1) * window - this.elapsed }
    const said = headers?.(quota) ?? {}
    await clock.sleep(latency?.() ?? 20)
    this.#atOnce--
    const status = limited ? 429 : 200
    observe?.({ ...about, type: 'response', status, statusText: '', limits: said, elapsed: 20 })
    if (limited) throw new Failure('rate_limited', 'Rate limit exceeded', { status })
  }
}

/** In headers, a reset is in whole seconds. */
export const rateLimitHeaders: NonNullable<LimitedServiceOptions['headers']> = ({ remaining, reset }) => ({
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(Math.ceil(reset / 1000)),
})

export const retryAfter: NonNullable<LimitedServiceOptions['headers']> = ({ limited, reset }) =>
  (limited ? { 'retry-after': String(Math.ceil(reset / 1000)) } : {}) as Record<string, string>
