import { roundDuration } from '../../config/units.ts'
import type { Progress, Work } from '../../run/run.ts'
import { Status } from '../../terminal/screen/status.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import type { Pause, RowCounts } from '../../view/run-progress.ts'
import type { Output } from './output.ts'

/** Interval between two updates in ms: redrawn in a terminal, otherwise new lines. */
const intervals = { drawn: 100, lines: 10_000 }

/** What a long command has done so far, on stderr. */
class ProgressLine {
  readonly #output: Output
  readonly #isDrawn: boolean
  #dueAt: number
  #isShown = false

  constructor(output: Output) {
    this.#output = output
    this.#isDrawn = output.canRedraw
    // Outside a terminal, short work writes no line.
    this.#dueAt = this.now() + (this.#isDrawn ? 0 : intervals.lines)
  }

  now(): number {
    return this.#output.streams.host.clock.now()
  }

  /**
   * @param describe called only for an update that is shown
   * @param part 0 to 1, for a bar; a pipe or a file gets none
   */
  show(describe: () => string, part?: number): void {
    const now = this.now()
    if (now < this.#dueAt) return
    this.#dueAt = now + (this.#isDrawn ? intervals.drawn : intervals.lines)
    if (!this.#isDrawn) {
      this.#output.progress(describe())
      return
    }
    this.#isShown = true
    const bar = part === undefined ? '' : `${drawBar(part)}  `
    const { streams } = this.#output
    streams.drawStatus(bar + describe())
  }

  /** Leaves an empty line to go on from. */
  end(): void {
    if (this.#isShown) this.#output.streams.drawStatus('')
    this.#isShown = false
  }
}

/** @param part 0 to 1 */
export function drawBar(part: number): string {
  const share = Math.min(1, Math.max(0, part))
  const width = 20
  const full = Math.round(share * width)
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${Math.floor(share * 100)}%`
}

/** Interval between two updates of the rate and of a pause, in ms. */
const tick = 250

/** A shorter pause, in ms, is shown only in a terminal. */
const worthALine = 10_000

/** How far the work on many rows is: how many, how fast, how long still, and what it waits for. */
export class BulkProgress implements Progress {
  readonly #output: Output
  readonly #work: Work
  readonly #line: ProgressLine
  readonly #timer: NodeJS.Timeout
  #counts: RowCounts = { done: 0, failed: 0, unknown: 0 }
  /** Where the rate is measured from: a pause, or what an earlier run has done, is not slowness. */
  #start: { at: number; settled: number }
  #pause: Pause | undefined
  readonly #sayWhy = (): void =>
    this.#output.notice(
      'Waiting for the responses to the requests already sent. Press Ctrl-C again to stop immediately.',
    )

  constructor(output: Output, work: Work) {
    const { counts, isSending = false } = work
    this.#output = output
    this.#work = work
    this.#line = new ProgressLine(output)
    if (counts) this.#counts = counts
    this.#start = { at: this.#line.now(), settled: settledIn(this.#counts) }
    if (isSending) output.streams.signal.addEventListener('abort', this.#sayWhy, { once: true })
    this.#timer = setInterval(() => this.#show(), tick)
    this.#timer.unref()
  }

  /** @param counts of the whole work, with those of an earlier run */
  update(counts: RowCounts): void {
    this.#counts = counts
  }

  pause(pause: Pause): void {
    this.#pause = pause
    // Lines that cannot be redrawn are written once for each pause.
    const isLong = pause.until - this.#line.now() >= worthALine
    if (isLong && !this.#output.canRedraw) this.#output.progress(this.#describe())
  }

  resume(): void {
    this.#pause = undefined
    this.#start = { at: this.#line.now(), settled: settledIn(this.#counts) }
  }

  end(): void {
    clearInterval(this.#timer)
    this.#line.end()
    this.#output.streams.signal.removeEventListener('abort', this.#sayWhy)
  }

  #show(): void {
    if (this.#pause && !this.#output.canRedraw) return
    const { rows } = this.#work
    const part = rows === undefined ? undefined : settledIn(this.#counts) / Math.max(1, rows)
    this.#line.show(() => this.#describe(), part)
  }

  #describe(): string {
    const { noun, rows: total, estimate } = this.#work
    const now = this.#line.now()
    const settled = settledIn(this.#counts)
    const perSecond = ((settled - this.#start.settled) * 1000) / Math.max(1, now - this.#start.at)
    const left =
      total === undefined || perSecond === 0 ? undefined : estimate?.(Math.max(0, total - settled), perSecond)
    const pause = this.#pause && { ...this.#pause, ms: this.#pause.until - now }
    return describeBulk({ noun, total, counts: this.#counts, perSecond, left, pause })
  }
}

function settledIn({ done, failed, unknown }: RowCounts): number {
  return done + failed + unknown
}

interface BulkState extends Pick<Work, 'noun'> {
  /** Undefined if the number is not known. */
  total?: number | undefined
  counts: RowCounts
  /** Rows a second. */
  perSecond: number
  /** Ms, if that is known. */
  left: number | undefined
  pause: { ms: number; why: Pause['why'] } | undefined
}

/** One line for the state of the work on many rows. */
export function describeBulk({ noun, total, counts, perSecond, left, pause }: BulkState): string {
  const { done, failed, unknown } = counts
  const parts = [
    `${total === undefined ? countOf(done, noun) : `${groupDigits(done)} of ${countOf(total, noun)}`} done`,
    ...(failed > 0 ? [`${groupDigits(failed)} failed`] : []),
    ...(unknown > 0 ? [`${groupDigits(unknown)} unknown`] : []),
  ]
  if (pause) {
    const why = pause.why === 'quota' ? 'quota used up' : 'rate limited'
    // First, because a narrow terminal truncates the line.
    return [why, `paused for ${roundDuration(Math.max(1000, pause.ms))}`, ...parts].join(', ')
  }
  if (perSecond > 0) parts.push(`${perSecond < 9.95 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`)
  if (left !== undefined && Number.isFinite(left)) parts.push(`${roundDuration(Math.max(1000, left))} left`)
  return parts.join(', ')
}

const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
/** Between two frames, in ms. */
const frameTime = 100
/** Nothing is shown for a wait that is shorter, in ms. */
const patience = 300

/**
 * What a command waits for, with the elapsed seconds, on the last line of the terminal. Shown only if stdout
 * is a terminal too: the reader of a pipe may be a pager, which draws on the same screen.
 */
export class WaitingLine {
  readonly #output: Output
  readonly #status: Status
  readonly #began: number
  #isDrawn = false

  constructor(output: Output) {
    const { clock } = output.streams.host
    this.#output = output
    this.#status = new Status(() => this.#draw(), clock, frameTime)
    this.#began = clock.monotonic()
  }

  show(text: string): void {
    if (this.#output.canRedraw && this.#output.streams.isShown) this.#status.showElapsed(text)
  }

  /** Removes the line. */
  end(): void {
    this.#status.clear()
  }

  #draw(): void {
    const { streams } = this.#output
    const { text } = this.#status
    if (text === undefined) {
      if (this.#isDrawn) streams.drawStatus('')
      this.#isDrawn = false
      return
    }
    const elapsed = streams.host.clock.monotonic() - this.#began
    if (elapsed < patience) return
    this.#isDrawn = true
    const frame = frames.charAt(Math.floor(elapsed / frameTime) % frames.length)
    streams.drawStatus(`${frame} ${text}`)
  }
}
