import type { FastifyReply } from 'fastify'
import type { Caller } from '../../domain/access/callers.ts'
import type { Configured } from '../../domain/live-settings.ts'
import type { Limiter, WindowState } from '../../limits/limiter.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { Refusal } from '../../refusal.ts'

/**
 * Counts a request and puts the state of both windows into its answer's headers, whatever the
 * answer will be (draft-ietf-httpapi-ratelimit-headers).
 * @throws Refusal `rate_limited`
 */
export async function holdToLimits(
  limiter: Limiter,
  { keyId, hourlyLimit }: Caller,
  configured: Configured,
  reply: FastifyReply,
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
  reply.header('ratelimit-policy', policies.join(', ')).header('ratelimit', states.join(', '))
  if (isAdmitted) return metrics?.countLimited('admitted')
  // Where both are spent, the longer wait is the one that helps.
  const window = hour?.remaining === 0 ? 'hour' : 'minute'
  const spent = window === 'hour' ? hour : minute
  metrics?.countLimited(window)
  if (spent) refuse(window, spent, reply)
}

/** The stricter of what the settings and the API configuration say. */
function minuteLimit({ settings, api }: Configured): number {
  const { max_requests_per_min: most } = settings.limits
  const { enabled, requests_per_minute } = api.rate_limiting
  return enabled ? Math.min(most, requests_per_minute) : most
}

function refuse(window: 'hour' | 'minute', { limit, reset }: WindowState, reply: FastifyReply): never {
  reply.header('retry-after', reset)
  throw new Refusal('rate_limited', `Rate limit of the API key exceeded: ${limit} requests per ${window}`, {
    details: { window, limit, retry_after: reset },
  })
}
