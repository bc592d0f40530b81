import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { Principal } from '../domain/access/permissions.ts'
import type { CurrentSettings } from '../domain/settings-cache.ts'
import type { ResponseHeaders } from '../http/service-request.ts'
import type { Metrics } from '../metrics/create-metrics.ts'
import {
  type Counters,
  type CountRequest,
  type CountResult,
  hourLength,
  hourOf,
  minuteLength,
  minuteOf,
  secondsLeft,
} from '../store/counters.ts'

/** Requests per clock hour and clock minute; null for no limit. */
interface RequestLimits {
  hourly: number | null
  minute: number | null
}

interface WindowState {
  limit: number
  remaining: number
  /** Whole seconds until the next window begins; 1 or more. */
  reset: number
}

/** Whether a request is admitted, and the state of the windows of its key. */
interface Admission {
  isAdmitted: boolean
  hour: WindowState | undefined
  minute: WindowState | undefined
}

/** The requests of one key since the last count. */
interface Queue extends RequestLimits {
  waiting: { settle(admission: Admission): void; fail(error: unknown): void }[]
}

/**
 * Admits requests as the counters allow. All requests that start together (see `RequestTurns`), or during a
 * count, are counted together, with one count request for each key.
 */
export class RateLimiter {
  readonly #counters: Counters
  readonly #clock: Clock
  #queues = new Map<string, Queue>()
  #running: Promise<void> | undefined

  constructor(counters: Counters, clock: Clock) {
    this.#counters = counters
    this.#clock = clock
  }

  /** An admitted request costs the key one request. @throws as the counters */
  admit(keyId: string, { hourly, minute }: RequestLimits): Promise<Admission> {
    return new Promise((settle, fail) => {
      const queue = this.#queues.get(keyId)
      if (queue) {
        // The newest limits apply to all requests: they were read last.
        queue.hourly = hourly
        queue.minute = minute
        queue.waiting.push({ settle, fail })
      } else {
        this.#queues.set(keyId, { hourly, minute, waiting: [{ settle, fail }] })
      }
      this.#running ??= this.#run()
    })
  }

  /** Counts the requests that wait, then closes the counters. */
  async close(): Promise<void> {
    await this.#running
    await this.#counters.close()
  }

  async #run(): Promise<void> {
    // After the microtasks, in which the other requests that started together are authenticated.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    while (this.#queues.size > 0) {
      const queues = this.#queues
      this.#queues = new Map()
      try {
        await this.#count(queues)
      } catch (error) {
        for (const { waiting } of queues.values()) for (const { fail } of waiting) fail(error)
      }
    }
    this.#running = undefined
  }

  async #count(queues: Map<string, Queue>): Promise<void> {
    const asked = this.#clock.now()
    const [hour, minute] = [hourOf(asked), minuteOf(asked)]
    const requests: CountRequest[] = []
    for (const [keyId, { hourly, minute: minuteLimit, waiting }] of queues) {
      requests.push({ keyId, wanted: waiting.length, hour, minute, hourlyLimit: hourly, minuteLimit })
    }
    const taken = await this.#counters.count(requests)
    const now = this.#clock.now()
    let index = 0
    for (const queue of queues.values()) {
      const state = taken[index++]
      if (!state) throw new Error('the counters did not return every count')
      queue.waiting.forEach(({ settle }, location) => {
        const isAdmitted = location < state.granted
        // The state after this request, without those behind it in the same turn.
        settle(admissionOf(state, queue, now, isAdmitted, isAdmitted ? state.granted - 1 - location : 0))
      })
    }
  }
}

/** @param behind how many of the counted requests came after this one */
function admissionOf(
  { hour, hourCount, minute, minuteCount }: CountResult,
  limits: RequestLimits,
  now: number,
  isAdmitted: boolean,
  behind: number,
): Admission {
  const state = (limit: number | null, count: number, window: number, length: number) =>
    limit === null
      ? undefined
      : {
          limit,
          remaining: Math.max(0, limit - (count - behind)),
          reset: secondsLeft(window, length, now),
        }
  return {
    isAdmitted,
    hour: state(limits.hourly, hourCount, hour, hourLength),
    minute: state(limits.minute, minuteCount, minute, minuteLength),
  }
}

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
