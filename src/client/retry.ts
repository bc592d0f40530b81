import type { Stage } from './open-response.ts'
import { readRetryAfter, readWait } from './rate-limit-headers.ts'

/** What became of one attempt. */
export type Outcome =
  | { type: 'answered'; status: number; headers: Record<string, string> }
  /** `hopeless`: trying again cannot help, such as a certificate that is not trusted. */
  | { type: 'interrupted'; stage: Stage; hopeless: boolean }

export interface RetryPolicy {
  /** Further attempts after a failure; rate limits are not counted. */
  retries: number
  /** Milliseconds, all the waiting that a service may ask of one request. */
  maxWait: number
}

/** What one request has used up so far. */
interface RetryCounts {
  retries: number
  limits: number
  /** Milliseconds that the service asked for. */
  waited: number
}

export const untried: RetryCounts = { retries: 0, limits: 0, waited: 0 }

export type Verdict =
  | { again: true; after: number; limited: boolean; counts: RetryCounts }
  /** `asked`: the wait in milliseconds that would have been needed, where that was too long. */
  | { again: false; asked?: number }

/**
 * PUT and GET mean the same twice (RFC 9110 section 9.2.2), as does HEAD. DELETE does too, but
 * the interface has none, so that we know nothing of what its second response would say.
 */
const repeatable = new Set(['GET', 'PUT', 'HEAD'])

const giveUp: Verdict = { again: false }

/**
 * Decides whether a request is sent again. A POST or PATCH whose outcome is unknown never is.
 *
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
  if (outcome.type === 'answered' && outcome.status === 429) {
    const after = limitedWait(readWait(outcome.headers, now), counts.limits, random)
    if (counts.waited + after > policy.maxWait) return { again: false, asked: after }
    const used = { ...counts, limits: counts.limits + 1, waited: counts.waited + after }
    return { again: true, after, limited: true, counts: used }
  }
  if (!mayRepeat(outcome, method) || counts.retries >= policy.retries) return giveUp

  const backoff = random * Math.min(8000, 250 * 2 ** counts.retries)
  const asked =
    outcome.type === 'answered' && outcome.status === 503 ? readRetryAfter(outcome.headers, now) : undefined
  if (asked !== undefined && counts.waited + asked > policy.maxWait) return { again: false, asked }
  const used = { ...counts, retries: counts.retries + 1, waited: counts.waited + (asked ?? 0) }
  return { again: true, after: asked ?? backoff, limited: false, counts: used }
}

function mayRepeat(outcome: Outcome, method: string): boolean {
  if (outcome.type === 'answered') return outcome.status >= 500 && repeatable.has(method)
  if (outcome.hopeless) return false
  return outcome.stage === 'connect' || repeatable.has(method)
}

/**
 * The wait before the next attempt at a rate limit: what the service asked for, else 1 s, 2 s,
 * 4 s … 30 s, each less up to half of it by chance. A service that keeps asking for nothing is
 * still not asked more than once a second.
 */
function limitedWait(asked: number | undefined, limits: number, random: number): number {
  if (asked === undefined) return Math.min(30_000, 1000 * 2 ** limits) * (1 - random / 2)
  return limits === 0 ? asked : Math.max(asked, 1000)
}
