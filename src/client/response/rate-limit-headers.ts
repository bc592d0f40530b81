/** A quota, as reported by the service. `reset` is milliseconds from now. */
export interface ReportedQuota {
  limit?: number
  remaining?: number
  reset?: number
}

type Headers = Record<string, string>

/** The headers that this file reads, which contain no secret. */
export function limitHeaders(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => limitName.test(name)))
}

/** A longer wait counts as this one, so that its end is a date. In milliseconds. */
const maxWait = 365 * 24 * 3600 * 1000

const limitName = /^(date|retry-after|(x-)?ratelimit(-.*)?)$/

/**
 * The wait that a response requests, in milliseconds. Undefined if it requests none. docs/interface.md,
 * "Limits", shows no header for it, so every known one is read.
 */
export function readWait(headers: Headers, now: number): number | undefined {
  return readRetryAfter(headers, now) ?? readQuota(headers, now).reset
}

/** RFC 9110 section 10.2.3: seconds, or an HTTP date by the clock of the service. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const value = headers['retry-after']?.trim()
  if (!value) return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return wait(Number(value) * 1000)
  const at = readDate(value)
  // Relative to the Date header if present, because the local clock may be wrong.
  return at === undefined ? undefined : wait(at - (readDate(headers['date'] ?? '') ?? now))
}

function wait(ms: number): number {
  return Math.max(0, Math.min(ms, maxWait))
}

/** RFC 9110 section 5.6.7, in the format that services must generate. */
function readDate(text: string): number | undefined {
  const at = /^\w{3}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/**
 * The quota that applies, from `RateLimit` (draft-ietf-httpapi-ratelimit-headers), its older
 * separate headers, or their `X-` variants.
 */
export function readQuota(headers: Headers, now: number): ReportedQuota {
  const combined = readStructured(headers['ratelimit'] ?? '')
  if (combined.remaining !== undefined || combined.reset !== undefined) return combined
  const field = (name: string) => headers[`ratelimit-${name}`] ?? headers[`x-ratelimit-${name}`]
  const reset = numberOf(field('reset'))
  // A window may follow the limit: `100, 100;w=3600`.
  const limit = numberOf(/^\s*[\d.]+/.exec(field('limit') ?? '')?.[0])
  return quotaOf(limit, numberOf(field('remaining')), reset === undefined ? undefined : readReset(reset, now))
}

function quotaOf(limit?: number, remaining?: number, reset?: number): ReportedQuota {
  return {
    ...(limit !== undefined && { limit }),
    ...(remaining !== undefined && { remaining }),
    ...(reset !== undefined && { reset }),
  }
}

/**
 * The quota of a whole window, in milliseconds, from `RateLimit-Policy` (`"hour";q=100;w=3600`, or
 * `100;w=3600` in older drafts) or the windows after `RateLimit-Limit`. Of several, the strictest.
 */
export function readPolicy(headers: Headers): Omit<Policy, 'name'> | undefined {
  const [first] = readPolicies(headers).sort((a, b) => a.limit / a.window - b.limit / b.window)
  return first && { limit: first.limit, window: first.window }
}

interface Policy {
  /** The name that `RateLimit` refers to. Undefined if the policy has none. */
  name: string | undefined
  limit: number
  /** Milliseconds. */
  window: number
}

function readPolicies(headers: Headers): Policy[] {
  const value =
    headers['ratelimit-policy'] ?? headers['ratelimit-limit'] ?? headers['x-ratelimit-limit'] ?? ''
  return value.split(',').flatMap((item) => {
    const limit = /;\s*q\s*=\s*(\d+)/.exec(item)?.[1] ?? /^\s*(\d+)\s*;/.exec(item)?.[1]
    const seconds = /;\s*w\s*=\s*(\d+)/.exec(item)?.[1]
    const window = Number(seconds) * 1000
    return limit === undefined || !(window > 0) ? [] : [{ name: nameOf(item), limit: Number(limit), window }]
  })
}

function nameOf(item: string): string | undefined {
  return /^\s*"([^"]*)"/.exec(item)?.[1]
}

/** Each window in the headers, with its quota. `window` is in milliseconds. */
export function readWindows(headers: Headers, now: number): (ReportedQuota & { window?: number })[] {
  const policies = readPolicies(headers)
  const combined = headers['ratelimit'] ?? ''
  const named = combined.split(',').filter((item) => nameOf(item) !== undefined)
  if (named.length > 0) {
    return named.map((item) => {
      const policy = policies.find(({ name }) => name === nameOf(item))
      return { ...readStructured(item), ...(policy && { limit: policy.limit, window: policy.window }) }
    })
  }
  const quota = readQuota(headers, now)
  const policy = policies.find(({ limit }) => limit === quota.limit) ?? policies[0]
  return [{ ...quota, ...(policy && { limit: policy.limit, window: policy.window }) }]
}

/** `"burst";r=0;t=5, "hour";r=80;t=1800`: the policy with the fewest requests left. */
function readStructured(value: string): ReportedQuota {
  const quotas = value.split(',').map((item) => {
    const reset = numberOf(/;\s*t\s*=\s*(\d+)/.exec(item)?.[1])
    const seconds = reset === undefined ? undefined : wait(reset * 1000)
    return quotaOf(undefined, numberOf(/;\s*r\s*=\s*(\d+)/.exec(item)?.[1]), seconds)
  })
  const left = (quota: ReportedQuota) => quota.remaining ?? Number.POSITIVE_INFINITY
  quotas.sort((a, b) => left(a) - left(b) || (b.reset ?? 0) - (a.reset ?? 0))
  return quotas[0] ?? {}
}

/** Seconds from now, or a Unix time in seconds or milliseconds, recognized by its size. */
function readReset(value: number, now: number): number {
  if (value > 1e11) return wait(value - now)
  return wait(value > 1e9 ? value * 1000 - now : value * 1000)
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}
