import { roundDuration } from '../../config/duration.ts'
import { countOf, groupDigits } from '../../view/count.ts'
import { describeTime } from './describe-time.ts'
import type { Output } from './output.ts'
import { drawBar, ProgressLine } from './progress-line.ts'

/** What has become of the rows so far. */
export interface Tally {
  done: number
  failed: number
  /** Nobody knows whether they were done. */
  unknown: number
}

export interface BulkProgressOptions {
  /** What is counted, in the singular. */
  noun: string
  /** Undefined where nobody knows yet how many there will be. */
  total: number | undefined
  /** Milliseconds that so many rows will still take at so many a second. */
  estimate(rows: number, perSecond: number): number
}

/** The rate is that of the last so many ms. */
const span = 10_000
const tick = 250

/** How far the work on many rows is: how many, how fast, how long still, and what it waits for. */
export class BulkProgress {
  readonly #output: Output
  readonly #options: BulkProgressOptions
  readonly #line: ProgressLine
  readonly #timer: NodeJS.Timeout
  readonly #samples: { at: number; settled: number }[] = []
  #tally: Tally = { done: 0, failed: 0, unknown: 0 }
  #pausedUntil: { until: number; why: 'limited' | 'quota' } | undefined

  constructor(output: Output, options: BulkProgressOptions) {
    this.#output = output
    this.#options = options
    this.#line = new ProgressLine(output)
    this.#sample(Date.now())
    this.#timer = setInterval(() => this.#show(), tick)
    this.#timer.unref()
  }

  /** @param tally of the whole run, what an earlier one has left included */
  update(tally: Tally): void {
    this.#tally = tally
  }

  /** What an earlier run has done is no part of the rate. */
  goOn(tally: Tally): void {
    this.#tally = tally
    this.#samples.length = 0
    this.#sample(Date.now())
  }

  /** @param pause.until milliseconds since the epoch */
  pause(pause: { until: number; why: 'limited' | 'quota' }): void {
    this.#pausedUntil = pause
    // Where lines stay, one is enough for as long as it takes.
    const isLong = pause.until - Date.now() >= span
    if (isLong && !this.#output.drawsOver) this.#output.progress(`${this.#counts()}, ${describePause(pause)}`)
  }

  go(): void {
    this.#pausedUntil = undefined
    this.#samples.length = 0
    this.#sample(Date.now())
  }

  end(): void {
    clearInterval(this.#timer)
    this.#line.end()
  }

  #show(): void {
    const paused = this.#pausedUntil
    if (paused && !this.#output.drawsOver) return
    const now = Date.now()
    this.#sample(now)
    this.#line.show(
      () => `${this.#bar()}${this.#counts()}, ${paused ? describePause(paused) : this.#pace(now)}`,
    )
  }

  get #settled(): number {
    return this.#tally.done + this.#tally.failed + this.#tally.unknown
  }

  #sample(at: number): void {
    const newest = this.#samples.at(-1)
    if (newest && at - newest.at < tick / 2) return
    this.#samples.push({ at, settled: this.#settled })
    while (this.#samples.length > 2 && at - (this.#samples[1]?.at ?? at) >= span) this.#samples.shift()
  }

  #bar(): string {
    const { total } = this.#options
    return total === undefined ? '' : `${drawBar(this.#settled / Math.max(1, total))}  `
  }

  #counts(): string {
    const { noun, total } = this.#options
    const { done, failed, unknown } = this.#tally
    const all = total === undefined ? '' : ` of ${countOf(total, noun)}`
    const some = total === undefined ? countOf(done, noun) : groupDigits(done)
    return [
      `${some}${all} done`,
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(unknown > 0 ? [`${unknown} unknown`] : []),
    ].join(', ')
  }

  #pace(now: number): string {
    const oldest = this.#samples[0] ?? { at: now, settled: 0 }
    const perSecond = ((this.#settled - oldest.settled) * 1000) / Math.max(1, now - oldest.at)
    const rate = `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`
    const { total, estimate } = this.#options
    if (total === undefined || perSecond === 0) return rate
    const left = Math.max(0, total - this.#settled)
    return `${rate}, ${roundDuration(estimate(left, perSecond))} left`
  }
}

function describePause({ until, why }: { until: number; why: 'limited' | 'quota' }): string {
  const reason = why === 'quota' ? 'paused for the quota' : 'paused, for the service limits the rate,'
  return `${reason} until ${describeTime(until)}`
}
