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
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const at = readDate(value)
  if (at === undefined) return undefined
  // Relative to the Date header if present, because the local clock may be wrong.
  return Math.max(0, at - (readDate(headers['date'] ?? '') ?? now))
}

/** RFC 9110 section 5.6.7: three formats. The oldest one omits its time zone, GMT. */
function readDate(text: string): number | undefined {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? undefined : at
}

/**
 * The quota that applies, from `RateLimit` (draft-ietf-httpapi-ratelimit-headers), its older
 * separate headers, or their `X-` variants.
 */
export function readQuota(headers: Headers, now: number): ReportedQuota {
  const combined = headers['ratelimit']
  if (combined) {
    const quota = /;\s*[rt]\s*=/.test(combined) ? readStructured(combined) : readPairs(combined, now)
    if (quota.remaining !== undefined || quota.reset !== undefined) return quota
  }
  return quotaOf(
    headers['ratelimit-limit'] ?? headers['x-ratelimit-limit'],
    headers['ratelimit-remaining'] ?? headers['x-ratelimit-remaining'],
    headers['ratelimit-reset'] ?? headers['x-ratelimit-reset'],
    now,
  )
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
  const quotas = value.split(',').map((item): ReportedQuota => {
    const remaining = /;\s*r\s*=\s*(\d+)/.exec(item)?.[1]
    const reset = /;\s*t\s*=\s*(\d+)/.exec(item)?.[1]
    return {
      ...(remaining === undefined ? {} : { remaining: Number(remaining) }),
      ...(reset === undefined ? {} : { reset: Number(reset) * 1000 }),
    }
  })
  const left = (quota: ReportedQuota) => quota.remaining ?? Number.POSITIVE_INFINITY
  quotas.sort((a, b) => left(a) - left(b) || (b.reset ?? 0) - (a.reset ?? 0))
  return quotas[0] ?? {}
}

/** `limit=100, remaining=0, reset=30`. */
function readPairs(value: string, now: number): ReportedQuota {
  const field = (name: string) => new RegExp(`(?:^|[,;\\s])${name}\\s*=\\s*([^,;\\s]+)`, 'i').exec(value)?.[1]
  return quotaOf(field('limit'), field('remaining'), field('reset'), now)
}

function quotaOf(limit?: string, remaining?: string, reset?: string, now = 0): ReportedQuota {
  const quota: ReportedQuota = {}
  // A window may follow the limit: `100, 100;w=3600`.
  const limitValue = numberOf(/^\s*[\d.]+/.exec(limit ?? '')?.[0])
  const remainingValue = numberOf(remaining)
  const resetValue = reset === undefined ? undefined : readReset(reset.trim(), now)
  if (limitValue !== undefined) quota.limit = limitValue
  if (remainingValue !== undefined) quota.remaining = remainingValue
  if (resetValue !== undefined) quota.reset = resetValue
  return quota
}

/** A number, a date, or a duration. Undefined for anything else; then the client backs off by its own rule. */
function readReset(text: string, now: number): number | undefined {
  const value = numberOf(text)
  if (value !== undefined) return readNumber(value, now)
  const at = readDate(text) ?? readIsoDate(text)
  return at === undefined ? readDuration(text) : Math.max(0, at - now)
}

/** An ISO 8601 date and time, in UTC if it has no time zone. */
function readIsoDate(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text)
  if (!match) return undefined
  const at = Date.parse(`${match[1]}T${match[2]}${match[3] ?? 'Z'}`)
  return Number.isNaN(at) ? undefined : at
}

const units: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** A duration in the notation of Go: `6m0s`, `500ms`, `1.5s`. */
function readDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|[dhms]))+$/.test(text)) return undefined
  const parts = [...text.matchAll(/(?<![\d.])([\d.]+)([a-z]+)/g)]
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? 0), 0)
}

/** Seconds from now, or a Unix time in seconds or milliseconds, recognized by its size. */
function readNumber(value: number, now: number): number {
  if (value > 1e11) return Math.max(0, value - now)
  if (value > 1e9) return Math.max(0, value * 1000 - now)
  return value * 1000
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}
