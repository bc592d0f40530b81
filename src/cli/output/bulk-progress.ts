import type { RowCounts } from '../../bulk/import-options.ts'
import type { Pause } from '../../bulk/send/throttle.ts'
import { describeBulk } from './describe-bulk.ts'
import type { Output } from './output.ts'
import { ProgressLine } from './progress-line.ts'

export interface BulkProgressOptions {
  /** What is counted, in the singular. */
  noun: string
  /** Undefined where nobody knows yet how many there will be. */
  total: number | undefined
  /** Milliseconds that so many rows will still take at so many a second. */
  estimate(rows: number, perSecond: number): number
}

/** Ms between two looks, so that a pause does not stand still. */
const tick = 250

/** A pause that is shorter is said on a terminal alone. */
const worthALine = 10_000

/** How far the work on many rows is: how many, how fast, how long still, and what it waits for. */
export class BulkProgress {
  readonly #output: Output
  readonly #options: BulkProgressOptions
  readonly #line: ProgressLine
  readonly #timer: NodeJS.Timeout
  #counts: RowCounts = { done: 0, failed: 0, unknown: 0 }
  #pace: Pace
  #pause: Pause | undefined

  constructor(output: Output, options: BulkProgressOptions) {
    this.#output = output
    this.#options = options
    this.#line = new ProgressLine(output)
    this.#pace = new Pace(this.#now(), 0)
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
    // Where lines stay, one is enough for as long as it takes.
    const isLong = pause.until - this.#now() >= worthALine
    if (isLong && !this.#output.drawsOver) this.#output.progress(this.#describe())
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
    if (this.#pause && !this.#output.drawsOver) return
    this.#pace.measure(this.#now(), this.#settled)
    const { total } = this.#options
    const part = total === undefined ? undefined : this.#settled / Math.max(1, total)
    this.#line.show(() => this.#describe(), part)
  }

  #describe(): string {
    const { noun, total, estimate } = this.#options
    const perSecond = this.#pace.measure(this.#now(), this.#settled)
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
    this.#pace = new Pace(this.#now(), this.#settled)
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
export class Pace {
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
