import { ApiError } from '../../api-error.ts'
import type { Principal } from '../../domain/access/permissions.ts'
import type { CurrentSettings } from '../../domain/settings-cache.ts'
import type { RateLimiter, WindowState } from '../../limits/rate-limiter.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { ResponseHeaders } from '../service-request.ts'

/**
 * Counts a request and sets the rate limit headers for both windows, also on an error response
 * (draft-ietf-httpapi-ratelimit-headers).
 * @throws ApiError `rate_limited`
 */
export async function enforceRateLimits(
  limiter: RateLimiter,
  { keyId, hourlyLimit }: Principal,
  configured: CurrentSettings,
  headers: ResponseHeaders,
  metrics: Metrics | undefined,
): Promise<void> {
  const limits = { hourly: hourlyLimit, minute: minuteLimit(configured) }
  const { hour, minute, isAdmitted } = await limiter.admit(keyId, limits)
  const policies: string[] = []
  const states: string[] = []
  const show = (name: string, seconds: number, { limit, remaining, reset }: WindowState) => {
    policies.push(`"${name}";q=${limit};w=${seconds}`)
    states.push(`"${name}";r=${remaining};t=${reset}`)
  }
  if (hour) show('hour', 3600, hour)
  if (minute) show('minute', 60, minute)
  headers['ratelimit-policy'] = policies.join(', ')
  headers['ratelimit'] = states.join(', ')
  if (isAdmitted) return metrics?.countLimiterDecision('admitted')
  // If both windows are used up, the client must wait for the longer one.
  const window = hour?.remaining === 0 ? 'hour' : 'minute'
  const exceeded = window === 'hour' ? hour : minute
  metrics?.countLimiterDecision(window)
  if (exceeded) refuse(window, exceeded, headers)
}

/** The lower limit of the settings and the API configuration. */
function minuteLimit({ settings, api }: CurrentSettings): number {
  const { max_requests_per_min: max } = settings.limits
  const { enabled, requests_per_minute } = api.rate_limiting
  return enabled ? Math.min(max, requests_per_minute) : max
}

function refuse(window: 'hour' | 'minute', { limit, reset }: WindowState, headers: ResponseHeaders): never {
  headers['retry-after'] = String(reset)
  throw new ApiError('rate_limited', `Rate limit of the API key exceeded: ${limit} requests per ${window}`, {
    details: { window, limit, retry_after: reset },
  })
}
