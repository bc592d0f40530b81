import type { Quota as SaidQuota } from '../../client/rate-limit-headers.ts'
import type { Quota } from '../../config/quota.ts'
import type { KnownQuota } from './known-quota.ts'

/** Requests that have left since the window began, in milliseconds since the epoch. */
export interface Spent {
  since: number
  requests: number
}

/** Ms between a time that an answer names and ours: resets are whole seconds. */
const tolerance = 1500

/** A quota that was given, kept by counting. All times are milliseconds since the epoch. */
export class QuotaCount {
  readonly #quota: Quota
  #spent: Spent | undefined

  constructor(quota: Quota, spent: Spent | undefined, now: number) {
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
  align(windows: readonly (SaidQuota & { window?: number })[], now: number): Spent | undefined {
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
  #open(now: number): Spent | undefined {
    return this.#spent && now - this.#spent.since < this.#quota.window ? this.#spent : undefined
  }
}
