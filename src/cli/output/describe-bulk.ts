import type { RowCounts } from '../../bulk/import-options.ts'
import type { Pause } from '../../bulk/send/brake.ts'
import { describeSpan } from '../../config/duration.ts'
import { countOf, groupDigits } from '../../view/count.ts'
import { describeTime } from './describe-time.ts'

export interface BulkState {
  /** What is counted, in the singular. */
  noun: string
  /** Undefined where nobody knows yet how many there will be. */
  total: number | undefined
  tally: RowCounts
  /** Rows a second. */
  perSecond: number
  /** Milliseconds, where that can be said. */
  left: number | undefined
  pause: Pause | undefined
}

/** One line for the state of the work on many rows. */
export function describeBulk(
  { noun, total, tally, perSecond, left, pause }: BulkState,
  now = Date.now(),
): string {
  const { done, failed, unknown } = tally
  const counts = [
    `${total === undefined ? countOf(done, noun) : `${groupDigits(done)} of ${countOf(total, noun)}`} done`,
    ...(failed > 0 ? [`${groupDigits(failed)} failed`] : []),
    ...(unknown > 0 ? [`${groupDigits(unknown)} unknown`] : []),
  ]
  // A narrow terminal cuts the end off: what it waits for comes first.
  if (pause) return [describePause(pause, now), ...counts].join(', ')
  const rate = perSecond > 0 ? [`${perSecond < 9.95 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`] : []
  const rest =
    left === undefined || !Number.isFinite(left) ? [] : [`${describeSpan(Math.max(1000, left))} left`]
  return [...counts, ...rate, ...rest].join(', ')
}

function describePause({ until, why }: Pause, now: number): string {
  const time = describeTime(until, now)
  return why === 'quota' ? `paused for the quota until ${time}` : `rate limited, paused until ${time}`
}
