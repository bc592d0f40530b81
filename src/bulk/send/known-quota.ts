import { type Quota as ReportedQuota, readPolicy, readQuota } from '../../client/rate-limit-headers.ts'
import type { Quota } from '../../config/quota.ts'
import type { SpentQuota } from '../journal/spent-quota.ts'

/** Ms by which the times of one window may differ: responses name whole seconds, and may be late. */
const tolerance = 1500

/** How long an empty quota is left alone whose end no answer names. */
const restUnnamed = 1000

/** What is known of a quota: `reset` and `window` are milliseconds, `reset` from now. */
export interface KnownQuota {
  limit?: number
  remaining?: number
  reset?: number
  window?: number
}

/** What two sources leave together: the lower limit with its window, and what is left by the one that leaves less. */
export function stricterOf(one: KnownQuota, other: KnownQuota): KnownQuota {
  const limits = lowerOf(one, other, 'limit')
  const left = lowerOf(one, other, 'remaining')
  return {
    ...(limits.limit !== undefined && { limit: limits.limit }),
    ...(limits.window !== undefined && { window: limits.window }),
    ...(left.remaining !== undefined && { remaining: left.remaining }),
    ...(left.reset !== undefined && { reset: left.reset }),
  }
}

function lowerOf(one: KnownQuota, other: KnownQuota, field: 'limit' | 'remaining'): KnownQuota {
  const [first = Number.POSITIVE_INFINITY, second = Number.POSITIVE_INFINITY] = [one[field], other[field]]
  return second < first ? other : one
}

/** A quota that was given, kept by counting. All times are milliseconds since the epoch. */
export class QuotaCount {
  readonly #quota: Quota
  #spent: SpentQuota | undefined

  constructor(quota: Quota, spent: SpentQuota | undefined, now: number) {
    this.#quota = quota
    // A window that begins later than now is of a clock that was set back.
    this.#spent = spent && { ...spent, since: Math.min(spent.since, now) }
  }

  take(now: number): void {
    const { since, requests } = this.#open(now) ?? { since: now, requests: 0 }
    this.#spent = { since, requests: requests + 1 }
  }

  /**
   * Has the window end when the service's own does, where an answer tells of a window of this length:
   * the service may have counted from the full hour, or from a request of another program.
   *
   * @returns what was spent of that window; undefined where nothing changes
   */
  align(windows: readonly (ReportedQuota & { window?: number })[], now: number): SpentQuota | undefined {
    const { requests, window } = this.#quota
    const spent = this.#open(now)
    const said = windows.find((quota) =>
      quota.window === undefined ? quota.limit === requests : quota.window === window,
    )
    if (!spent || said?.reset === undefined || said.reset > window + tolerance) return undefined
    const since = now + said.reset - window
    if (Math.abs(since - spent.since) <= tolerance) return undefined
    // A late answer may be of the window before.
    if (since < spent.since && said.reset <= tolerance) return undefined
    const { limit, remaining } = said
    const isKnown = since > spent.since && limit !== undefined && remaining !== undefined
    // What was sent before the service's window began is not counted in it.
    const counted = isKnown ? Math.min(spent.requests, Math.max(0, limit - remaining)) : spent.requests
    this.#spent = { since, requests: counted }
    return this.#spent
  }

  /** Milliseconds until a request may leave. */
  usedUpFor(now: number): number {
    const spent = this.#open(now)
    if (!spent || spent.requests < this.#quota.requests) return 0
    return spent.since + this.#quota.window - now
  }

  known(now: number): KnownQuota {
    const { requests, window } = this.#quota
    const spent = this.#open(now)
    const remaining = Math.max(0, requests - (spent?.requests ?? 0))
    return { limit: requests, remaining, window, ...(spent ? { reset: spent.since + window - now } : {}) }
  }

  /** What the window that is open has used up. */
  #open(now: number): SpentQuota | undefined {
    return this.#spent && now - this.#spent.since < this.#quota.window ? this.#spent : undefined
  }
}

/** The quota that the headers of answers tell of. All times are milliseconds. */
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
    const unnamed = remaining === 0 ? now + restUnnamed : undefined
    const resetAt = reset === undefined ? unnamed : now + reset
    // Answers overtake each other: within one window the least is the newest.
    const isSame =
      resetAt !== undefined &&
      this.#resetAt !== undefined &&
      this.#resetAt > now &&
      Math.abs(resetAt - this.#resetAt) <= tolerance
    this.#remaining = isSame ? Math.min(remaining, this.#remaining ?? remaining) : remaining
    if (!isSame) this.#resetAt = resetAt
  }

  /** Milliseconds until a request may leave. */
  usedUpFor(now: number): number {
    this.#forget(now)
    return this.#remaining === 0 && this.#resetAt !== undefined ? this.#resetAt - now : 0
  }

  /** Whether one more request fits, were all that are under way still to be counted. */
  hasRoom(inFlight: number, now: number): boolean {
    this.#forget(now)
    return inFlight === 0 || this.#remaining === undefined || this.#remaining > inFlight
  }

  known(now: number): KnownQuota | undefined {
    this.#forget(now)
    const [limit, remaining] = [this.#limit, this.#remaining]
    if (limit === undefined && remaining === undefined) return undefined
    return {
      ...(limit === undefined ? {} : { limit }),
      ...(remaining === undefined ? {} : { remaining }),
      ...(this.#window === undefined ? {} : { window: this.#window }),
      ...(this.#resetAt === undefined ? {} : { reset: this.#resetAt - now }),
    }
  }

  /** A window that is over says nothing of the next one. */
  #forget(now: number): void {
    if (this.#resetAt === undefined || this.#resetAt > now) return
    this.#resetAt = undefined
    this.#remaining = undefined
  }
}
