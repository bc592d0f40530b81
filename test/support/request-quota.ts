import { type Behavior, limited } from './fault-server.ts'

export interface RequestQuotaOptions {
  requests: number
  /** Length in milliseconds. A window begins with the first request after the previous window. */
  window: number
  /** The headers that describe the quota. `Retry-After` is only in refusals. */
  headers: 'RateLimit' | 'X-RateLimit' | 'Retry-After' | 'none'
}

interface Taken {
  allowed: boolean
  /** Headers for the response. */
  headers: Record<string, string>
  /** The refusal, if the request is not allowed. */
  behavior: Behavior
}

/** A number of requests per window, as in docs/interface.md, "Limits". Refused requests do not count. */
export class RequestQuota {
  readonly #options: RequestQuotaOptions
  #windowEnds = 0
  #left = 0

  /** The number of refused requests so far. */
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
    return { allowed, headers, behavior: limited(headers) }
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
