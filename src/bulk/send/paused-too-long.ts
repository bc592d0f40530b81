import { durationFlagFor } from '../../config/duration.ts'
import { Failure } from '../../contract/failure.ts'
import { describeDuration } from '../../system/clock.ts'

/** The longest value that --max-wait takes, in ms: what a timer of Node can wait, less an hour. */
const longestWait = 2 ** 31 - 1 - 3_600_000

/** Beyond the year 275760 there is no date to show. */
const longestPlan = 365 * 24 * 3600 * 1000

/**
 * The failure of a pause that would be longer than `--max-wait`. Times are milliseconds.
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
    hint: hintFor(until - now, until, waited),
  })
}

function hintFor(left: number, until: number, waited: number): string {
  if (left > longestPlan) return 'The service asks for a wait of more than a year.'
  const at = new Date(until).toISOString().replace(/\.\d+Z$/, 'Z')
  const again = `Try again in ${describeDuration(left)} (at ${at})`
  return waited > longestWait
    ? `${again}.`
    : `${again}, or let it wait with --max-wait ${durationFlagFor(waited)}.`
}
