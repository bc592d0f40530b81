import type { Prospect } from '../../bulk/import-options.ts'
import { describeSpan, durationFlagFor } from '../../config/duration.ts'
import { usualWindow } from '../../config/quota.ts'
import { countOf, groupDigits } from '../../view/count.ts'
import type { Context } from '../create-context.ts'

/** What is known of the quota, and how long it will take with it. */
export function describeProspect(
  { options }: Context,
  { quota, duration, requests }: Prospect,
  concurrency: number,
  again: string,
): string {
  const about = `about ${describeSpan(Math.max(1000, duration))}, ${concurrency} at a time`
  if (quota?.limit === undefined && quota?.remaining === undefined) {
    return `No quota is known (--quota 100/h names one); without one it takes ${about}.`
  }
  const { limit, remaining = limit ?? 0, window, reset } = quota
  const known = [
    ...(limit === undefined
      ? []
      : [`${countOf(limit, 'request')}${window ? ` in ${describeSpan(window)}` : ''}`]),
    ...(quota.remaining === undefined ? [] : [`${groupDigits(remaining)} left`]),
    ...(window || reset === undefined ? [] : [`more in ${describeSpan(reset)}`]),
  ]
  const isLonger = limit === undefined || requests - remaining > limit
  const pause = requests <= remaining ? 0 : Math.max(reset ?? 0, isLonger ? (window ?? usualWindow) : 0)
  const stop = pause > options.max_wait.value ? describeStop(options.max_wait.value, pause, again) : ''
  return `The quota: ${known.join(', ')}. It takes ${about}.${stop}`
}

/** A run that would have to wait for longer than it may is better not left alone. */
function describeStop(maxWait: number, pause: number, again: string): string {
  return `\nA pause for it may be longer than --max-wait ${durationFlagFor(maxWait)}: then the run stops; to resume it later, run ${again}. --max-wait ${durationFlagFor(pause)} waits.`
}
