import { readPolicy, readQuota } from '../../client/rate-limit-headers.ts'
import type { KnownQuota } from './known-quota.ts'

/** Between the ends that two answers name for one window: they are whole seconds, or late. */
const tolerance = 1500

/** How long an empty quota is left alone whose end no answer names. */
const restUnnamed = 1000

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
