import { ApiError } from '../../api-error.ts'
import type { Principal } from '../../domain/access/permissions.ts'
import type { CurrentSettings } from '../../domain/settings-cache.ts'
import type { Admission, RequestLimits, WindowState } from '../../limits/rate-limiter.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { ResponseHeaders } from '../service-request.ts'

/**
 * Sets the rate limit headers for both windows, also on an error response
 * (draft-ietf-httpapi-ratelimit-headers).
 * @throws ApiError `rate_limited`
 */
export function enforceRateLimits(
  { hour, minute, isAdmitted }: Admission,
  headers: ResponseHeaders,
  metrics: Metrics | undefined,
): void {
  const separator = hour && minute ? ', ' : ''
  headers['ratelimit-policy'] = policyOf('hour', 3600, hour) + separator + policyOf('minute', 60, minute)
  headers['ratelimit'] = stateOf('hour', hour) + separator + stateOf('minute', minute)
  if (isAdmitted) {
    metrics?.countLimiterDecision('admitted')
    return
  }
  // If both windows are used up, the client must wait for the longer one.
  const window = hour?.remaining === 0 ? 'hour' : 'minute'
  const exceeded = window === 'hour' ? hour : minute
  metrics?.countLimiterDecision(window)
  if (exceeded) refuse(window, exceeded, headers)
}

const policyOf = (name: string, seconds: number, window: WindowState | undefined) =>
  window ? `"${name}";q=${window.limit};w=${seconds}` : ''
const stateOf = (name: string, window: WindowState | undefined) =>
  window ? `"${name}";r=${window.remaining};t=${window.reset}` : ''

/** For each minute, the lower limit of the settings and the API configuration. */
export function limitsOf({ hourlyLimit }: Principal, { settings, api }: CurrentSettings): RequestLimits {
  const { max_requests_per_min: max } = settings.limits
  const { enabled, requests_per_minute } = api.rate_limiting
  return { hourly: hourlyLimit, minute: enabled ? Math.min(max, requests_per_minute) : max }
}

function refuse(window: 'hour' | 'minute', { limit, reset }: WindowState, headers: ResponseHeaders): never {
  headers['retry-after'] = String(reset)
  throw new ApiError('rate_limited', `Rate limit of the API key exceeded: ${limit} requests per ${window}`, {
    details: { window, limit, retry_after: reset },
  })
}
