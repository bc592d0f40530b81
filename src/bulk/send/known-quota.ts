import { type ReportedQuota, readPolicy, readQuota } from '../../client/response/rate-limit-headers.ts'
import type { ConfiguredQuota } from '../../config/quota.ts'

/** Tolerance for the times of one window, in ms: responses contain whole seconds, and may be late. */
const tolerance = 1500

/** The pause in ms for an exhausted quota if no response contains its reset. */
const defaultReset = 1000

/** The known part of a quota. `reset` and `window` are in ms; `reset` is relative to now. */
export interface KnownQuota {
  limit?: number
  remaining?: number
  reset?: number
  window?: number
}

/** Combines two quotas: the lower limit with its window, and the lower remaining number with its reset. */
export function stricterOf(one: KnownQuota, other: KnownQuota): KnownQuota {
  const limits = lowerOf(one, other, 'limit')
  const left = lowerOf(one, other, 'remaining')
  return { limit: limits.limit, window: limits.window, remaining: left.remaining, reset: left.reset }
}

function lowerOf(one: KnownQuota, other: KnownQuota, field: 'limit' | 'remaining'): KnownQuota {
  const [first = Number.POSITIVE_INFINITY, second = Number.POSITIVE_INFINITY] = [one[field], other[field]]
  return second < first ? other : one
}

/** A configured quota, enforced by counting requests. All times are Unix times in ms. */
export class QuotaCount {
  readonly #quota: ConfiguredQuota
  /** The window that was opened last. */
  #spent: { since: number; requests: number } | undefined

  constructor(quota: ConfiguredQuota) {
    this.#quota = quota
  }

  take(now: number): void {
    const { since, requests } = this.#open(now) ?? { since: now, requests: 0 }
    this.#spent = { since, requests: requests + 1 }
  }

  /**
   * Moves the window to that of the service, if a response contains a window of the same length. The window of
   * the service may begin at the full hour, or with a request of another program.
   */
  align(windows: readonly (ReportedQuota & { window?: number })[], now: number): void {
    const { requests, window } = this.#quota
    const spent = this.#open(now)
    const reported = windows.find((quota) =>
      quota.window === undefined ? quota.limit === requests : quota.window === window,
    )
    if (!spent || reported?.reset === undefined || reported.reset > window + tolerance) return
    const since = now + reported.reset - window
    // A late response may be about the previous window.
    const isLate = since < spent.since && reported.reset <= tolerance
    if (Math.abs(since - spent.since) > tolerance && !isLate) this.#spent = { ...spent, since }
  }

  /** The time in ms until a request may be sent. */
  exhaustedFor(now: number): number {
    const spent = this.#open(now)
    if (!spent || spent.requests < this.#quota.requests) return 0
    return spent.since + this.#quota.window - now
  }

  known(now: number): KnownQuota {
    const { requests, window } = this.#quota
    const spent = this.#open(now)
    const remaining = Math.max(0, requests - (spent?.requests ?? 0))
    return { limit: requests, remaining, window, reset: spent && spent.since + window - now }
  }

  /** The requests of the current window; undefined if none is open. */
  #open(now: number): { since: number; requests: number } | undefined {
    return this.#spent && now - this.#spent.since < this.#quota.window ? this.#spent : undefined
  }
}

/** The quota in the headers of responses. All times are in ms. */
export class QuotaHeaders {
  #limit: number | undefined
  #window: number | undefined
  #remaining: number | undefined
  #resetAt: number | undefined

  read(headers: Record<string, string>, now: number): void {
    const { limit, remaining, reset } = readQuota(headers, now)
    const policy = readPolicy(headers)
    this.#limit = policy?.limit ?? limit ?? this.#limit
    this.#window = policy?.window ?? this.#window
    if (remaining === undefined) return
    const assumed = remaining === 0 ? now + defaultReset : undefined
    const resetAt = reset === undefined ? assumed : now + reset
    // Responses may overtake each other: within one window, the lowest number is the newest.
    const isSame =
      resetAt !== undefined &&
      this.#resetAt !== undefined &&
      this.#resetAt > now &&
      Math.abs(resetAt - this.#resetAt) <= tolerance
    this.#remaining = isSame ? Math.min(remaining, this.#remaining ?? remaining) : remaining
    if (!isSame) this.#resetAt = resetAt
  }

  /** The time in ms until a request may be sent. */
  exhaustedFor(now: number): number {
    this.#forget(now)
    return this.#remaining === 0 && this.#resetAt !== undefined ? this.#resetAt - now : 0
  }

  /** Whether one more request fits if the service has counted none of those in flight yet. */
  hasRoom(inFlight: number, now: number): boolean {
    this.#forget(now)
    return inFlight === 0 || this.#remaining === undefined || this.#remaining > inFlight
  }

  known(now: number): KnownQuota | undefined {
    this.#forget(now)
    const [limit, remaining] = [this.#limit, this.#remaining]
    if (limit === undefined && remaining === undefined) return undefined
    const reset = this.#resetAt === undefined ? undefined : this.#resetAt - now
    return { limit, remaining, window: this.#window, reset }
  }

  /** Discards the numbers of a window that has ended. */
  #forget(now: number): void {
    if (this.#resetAt === undefined || this.#resetAt > now) return
    this.#resetAt = undefined
    this.#remaining = undefined
  }
}
