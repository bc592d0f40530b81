import { roundDuration } from '../../config/units.ts'
import type { RowCounts } from '../../users/import-options.ts'
import type { Pause } from '../../users/send/throttle.ts'
import { countOf, groupDigits } from '../../view/format/count.ts'
import type { Output } from './output.ts'
import { ProgressLine } from './progress-line.ts'

export interface BulkProgressOptions {
  /** What is counted, in the singular. */
  noun: string
  /** Undefined if the total is not known yet. */
  total: number | undefined
  /** Milliseconds that so many rows will still take at so many a second. */
  estimate(rows: number, perSecond: number): number
}

/** Interval between two updates, in ms. */
const tick = 250

/** A shorter pause, in ms, is shown only in a terminal. */
const worthALine = 10_000

/** How far the work on many rows is: how many, how fast, how long still, and what it waits for. */
export class BulkProgress {
  readonly #output: Output
  readonly #options: BulkProgressOptions
  readonly #line: ProgressLine
  readonly #timer: NodeJS.Timeout
  #counts: RowCounts = { done: 0, failed: 0, unknown: 0 }
  #rateMeter: RateMeter
  #pause: Pause | undefined

  constructor(output: Output, options: BulkProgressOptions) {
    this.#output = output
    this.#options = options
    this.#line = new ProgressLine(output)
    this.#rateMeter = new RateMeter(this.#now(), 0)
    this.#timer = setInterval(() => this.#show(), tick)
    this.#timer.unref()
  }

  /** What an earlier run has left, which is no part of the rate. */
  goOn(counts: RowCounts): void {
    this.#counts = counts
    this.#restart()
  }

  /** @param counts of the whole work, what an earlier run has left included */
  update(counts: RowCounts): void {
    this.#counts = counts
  }

  pause(pause: Pause): void {
    this.#pause = pause
    // Lines that cannot be redrawn are written once for each pause.
    const isLong = pause.until - this.#now() >= worthALine
    if (isLong && !this.#output.canRedraw) this.#output.progress(this.#describe())
  }

  go(): void {
    this.#pause = undefined
    this.#restart()
  }

  end(): void {
    clearInterval(this.#timer)
    this.#line.end()
  }

  #show(): void {
    if (this.#pause && !this.#output.canRedraw) return
    this.#rateMeter.measure(this.#now(), this.#settled)
    const { total } = this.#options
    const part = total === undefined ? undefined : this.#settled / Math.max(1, total)
    this.#line.show(() => this.#describe(), part)
  }

  #describe(): string {
    const { noun, total, estimate } = this.#options
    const perSecond = this.#rateMeter.measure(this.#now(), this.#settled)
    const left =
      total === undefined || perSecond === 0
        ? undefined
        : estimate(Math.max(0, total - this.#settled), perSecond)
    return describeBulk(
      { noun, total, counts: this.#counts, perSecond, left, pause: this.#pause },
      this.#now(),
    )
  }

  /** A pause would count as slowness. */
  #restart(): void {
    this.#rateMeter = new RateMeter(this.#now(), this.#settled)
  }

  #now(): number {
    return this.#output.streams.host.clock.now()
  }

  get #settled(): number {
    return this.#counts.done + this.#counts.failed + this.#counts.unknown
  }
}

/** The rate is that of the last so many ms, looked at so often. */
const span = 10_000
const interval = 125

/** How fast something goes, of late. All times are ms. */
export class RateMeter {
  readonly #samples: { at: number; count: number }[]

  constructor(at: number, count: number) {
    this.#samples = [{ at, count }]
  }

  /** @returns how many a second */
  measure(at: number, count: number): number {
    const newest = this.#samples.at(-1)
    if (!newest || at - newest.at >= interval) this.#samples.push({ at, count })
    while (this.#samples.length > 2 && at - (this.#samples[1]?.at ?? at) >= span) this.#samples.shift()
    const oldest = this.#samples[0] ?? { at, count }
    return at <= oldest.at ? 0 : ((count - oldest.count) * 1000) / (at - oldest.at)
  }
}

export interface BulkState {
  /** What is counted, in the singular. */
  noun: string
  /** Undefined if the total is not known yet. */
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
  // First, because a narrow terminal truncates the line.
  if (pause) return [describePause(pause, now), ...parts].join(', ')
  const rate = perSecond > 0 ? [`${perSecond < 9.95 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`] : []
  const rest =
    left === undefined || !Number.isFinite(left) ? [] : [`${roundDuration(Math.max(1000, left))} left`]
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
