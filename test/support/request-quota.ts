import { type Behaviour, limited } from './fault-server.ts'

export interface RequestQuotaOptions {
  requests: number
  /** Milliseconds; a window begins with the first request after the last one. */
  window: number
  /** What answers say about it; `Retry-After` is in the refusals alone. */
  headers: 'RateLimit' | 'X-RateLimit' | 'Retry-After' | 'none'
}

interface Taken {
  allowed: boolean
  /** For the answer. */
  headers: Record<string, string>
  /** The refusal, where it is not allowed. */
  behaviour: Behaviour
}

/** So many requests in a window, as in docs/interface.md, "Limits"; those refused do not count. */
export class RequestQuota {
  readonly #options: RequestQuotaOptions
  #windowEnds = 0
  #left = 0

  /** Requests that were refused so far. */
  refused = 0

  constructor(options: RequestQuotaOptions) {
    this.#options = options
  }

  take(): Taken {
    const now = Date.now()
    if (now >= this.#windowEnds) {
      this.#windowEnds = now + this.#options.window
      this.#left = this.#options.requests
    }
    const allowed = this.#left > 0
    if (allowed) this.#left--
    else this.refused++
    const headers = this.#headers(now, allowed)
    return { allowed, headers, behaviour: limited(headers) }
  }

  #headers(now: number, allowed: boolean): Record<string, string> {
    const { requests, headers } = this.#options
    const seconds = String(Math.ceil((this.#windowEnds - now) / 1000))
    if (headers === 'Retry-After' && !allowed) return { 'retry-after': seconds }
    if (headers === 'Retry-After' || headers === 'none') return {}
    const prefix = headers.toLowerCase()
    return {
      [`${prefix}-limit`]: String(requests),
      [`${prefix}-remaining`]: String(this.#left),
      [`${prefix}-reset`]: seconds,
    }
  }
}
