import type { Stage } from '../system/network/network-fault.ts'
import { readRetryAfter, readWait } from './response/rate-limit-headers.ts'

/** The outcome of one attempt. */
export type Outcome =
  | { type: 'response'; status: number; headers: Record<string, string> }
  /** `hopeless`: a retry cannot help, for example with an untrusted certificate. */
  | { type: 'interrupted'; stage: Stage; hopeless: boolean }

export interface RetryPolicy {
  /** Maximum number of retries after a failure. Rate limits are not counted. */
  retries: number
  /** Maximum total wait, in milliseconds, that a service may request. */
  maxWait: number
}

/** The retries and waits of one request so far. */
interface RetryCounts {
  retries: number
  limits: number
  /** Milliseconds, as requested by the service. */
  waited: number
}

export const untried: RetryCounts = { retries: 0, limits: 0, waited: 0 }

export type Verdict =
  | { again: true; after: number; limited: boolean; counts: RetryCounts }
  /** `asked`: the requested wait in milliseconds, if it was too long. */
  | { again: false; asked?: number }

/**
 * Idempotent methods (RFC 9110 section 9.2.2). DELETE is idempotent, too, but the interface has none, and
 * the response to a second DELETE is unknown.
 */
const repeatable = new Set(['GET', 'PUT', 'HEAD'])

const giveUp: Verdict = { again: false }

/**
 * Decides whether a request is sent again. A POST or PATCH whose outcome is unknown never is.
 * @param now milliseconds since the epoch
 * @param random in [0, 1)
 */
export function judge(
  outcome: Outcome,
  method: string,
  counts: RetryCounts,
  policy: RetryPolicy,
  now: number,
  random: number,
): Verdict {
  if (outcome.type === 'response' && outcome.status === 429) {
    const after = limitedWait(readWait(outcome.headers, now), counts.limits, random)
    if (counts.waited + after > policy.maxWait) return { again: false, asked: after }
    const used = { ...counts, limits: counts.limits + 1, waited: counts.waited + after }
    return { again: true, after, limited: true, counts: used }
  }
  if (!mayRepeat(outcome, method) || counts.retries >= policy.retries) return giveUp

  const backoff = random * Math.min(8000, 250 * 2 ** counts.retries)
  const asked =
    outcome.type === 'response' && outcome.status === 503 ? readRetryAfter(outcome.headers, now) : undefined
  if (asked !== undefined && counts.waited + asked > policy.maxWait) return { again: false, asked }
  const used = { ...counts, retries: counts.retries + 1, waited: counts.waited + (asked ?? 0) }
  return { again: true, after: asked ?? backoff, limited: false, counts: used }
}

function mayRepeat(outcome: Outcome, method: string): boolean {
  if (outcome.type === 'response') return outcome.status >= 500 && repeatable.has(method)
  if (outcome.hopeless) return false
  return outcome.stage === 'connect' || repeatable.has(method)
}

/**
 * The wait before the next attempt after a rate limit: the time that the service requested, else 1 s,
 * 2 s, 4 s … 30 s, each reduced at random by up to half. After the first attempt, at least one second.
 */
function limitedWait(asked: number | undefined, limits: number, random: number): number {
  if (asked === undefined) return Math.min(30_000, 1000 * 2 ** limits) * (1 - random / 2)
  return limits === 0 ? asked : Math.max(asked, 1000)
}
