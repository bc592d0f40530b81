import type { RowCounts } from '../../bulk/import-options.ts'
import type { Pause } from '../../bulk/send/throttle.ts'
import { describeSpan } from '../../config/duration.ts'
import { countOf, groupDigits } from '../../view/count.ts'

export interface BulkState {
  /** What is counted, in the singular. */
  noun: string
  /** Undefined where nobody knows yet how many there will be. */
  total: number | undefined
  counts: RowCounts
  /** Rows a second. */
  perSecond: number
  /** Milliseconds, where that can be said. */
  left: number | undefined
  pause: Pause | undefined
}

/** One line for the state of the work on many rows. */
export function describeBulk(
  { noun, total, counts, perSecond, left, pause }: BulkState,
  now: number,
): string {
  const { done, failed, unknown } = counts
  const parts = [
    `${total === undefined ? countOf(done, noun) : `${groupDigits(done)} of ${countOf(total, noun)}`} done`,
    ...(failed > 0 ? [`${groupDigits(failed)} failed`] : []),
    ...(unknown > 0 ? [`${groupDigits(unknown)} unknown`] : []),
  ]
  // A narrow terminal cuts the end off: what it waits for comes first.
  if (pause) return [describePause(pause, now), ...parts].join(', ')
  const rate = perSecond > 0 ? [`${perSecond < 9.95 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`] : []
  const rest =
    left === undefined || !Number.isFinite(left) ? [] : [`${describeSpan(Math.max(1000, left))} left`]
  return [...parts, ...rate, ...rest].join(', ')
}

function describePause({ until, why }: Pause, now: number): string {
  const time = describeTime(until, now)
  return why === 'quota' ? `quota used up, paused until ${time}` : `rate limited, paused until ${time}`
}

/**
 * A time soon to come, on the person's own clock: `14:05`, to the second within two minutes, and
 * with its date where that is another.
 * @param at milliseconds since the epoch
 */
export function describeTime(at: number, now: number): string {
  const then = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [then.getHours(), then.getMinutes(), ...(at - now < 120_000 ? [then.getSeconds()] : [])]
    .map(two)
    .join(':')
  if (then.toDateString() === new Date(now).toDateString()) return time
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`
}
