import { Failure, type Help } from '../../contract/failure.ts'

/** The maximum wait that can be set, in ms: what a timer of Node can wait, less an hour. */
const longestWait = 2 ** 31 - 1 - 3_600_000

/** Beyond the year 275760 there is no date to show. */
const longestPlan = 365 * 24 * 3600 * 1000

/**
 * The failure of a pause that would be longer than the maximum wait. Times are milliseconds.
 *
 * @param pause.waited all the waiting that would be needed, what has passed of it included
 * @param pause.asker the answer that asked for it, where one did
 */
export function pausedTooLong(pause: {
  until: number
  why: 'limited' | 'quota'
  waited: number
  now: number
  asker: Failure | undefined
}): Failure {
  const { until, why, waited, now, asker } = pause
  const message = asker?.message ?? (why === 'quota' ? 'the quota is used up' : 'the service is rate limited')
  return new Failure('rate_limited', message, {
    ...(asker ? { code: asker.code, details: asker.details, cause: asker } : {}),
    ...(asker?.status === undefined ? {} : { status: asker.status }),
    ...(asker?.request === undefined ? {} : { request: asker.request }),
    ...helpFor(until - now, until, waited),
  })
}

function helpFor(left: number, until: number, waited: number): Help {
  if (left > longestPlan) return { hint: 'The service asks for a wait of more than a year.' }
  const total = waited > longestWait ? null : waited
  return { advice: [{ code: 'longer_total_wait', ms: left, until: new Date(until).toISOString(), total }] }
}
