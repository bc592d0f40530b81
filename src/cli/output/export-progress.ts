import type { Clock } from '../../system/clock.ts'
import { countOf } from '../../view/format/count.ts'
import type { Output } from './output.ts'
import { ProgressLine } from './progress-line.ts'

/** How far an export is: how many messages, how fast, back to when. */
export class ExportProgress {
  readonly #line: ProgressLine
  readonly #since: number | undefined
  readonly #clock: Clock
  readonly #startedAt: number
  #messages = 0
  #earlier = 0
  #newest: number | undefined

  /** @param since time in ms at which the export ends; undefined for the whole history */
  constructor(output: Output, since: number | undefined) {
    this.#line = new ProgressLine(output)
    this.#since = since
    this.#clock = output.streams.host.clock
    this.#startedAt = this.#clock.now()
  }

  /** @param messages that an earlier run has left */
  goOn(messages: number): void {
    this.#earlier = messages
  }

  /** @param oldest ms, of the page that was read */
  read({ messages, oldest }: { messages: number; oldest: number | undefined }): void {
    this.#messages += messages
    this.#newest ??= oldest
    this.#line.show(() => {
      const rate = Math.round((this.#messages * 1000) / Math.max(1, this.#clock.now() - this.#startedAt))
      const back = oldest === undefined ? '' : `, back to ${new Date(oldest).toISOString().slice(0, 10)}`
      return `${countOf(this.#earlier + this.#messages, 'message')}, ${rate}/s${back}`
    }, this.#part(oldest))
  }

  write(messages: number, total: number): void {
    this.#line.show(() => `writing ${countOf(total, 'message')}`, messages / total)
  }

  end(): void {
    this.#line.end()
  }

  /** Messages come evenly enough for time to measure them. */
  #part(oldest: number | undefined): number | undefined {
    if (this.#since === undefined || oldest === undefined || this.#newest === undefined) return undefined
    return (this.#newest - oldest) / Math.max(1, this.#newest - this.#since)
  }
}
