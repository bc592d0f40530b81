import { Status } from '../../terminal/screen/status.ts'
import type { Output } from './output.ts'

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
    streams.drawStatus(`${frame} ${text}`.slice(0, (streams.host.stderr.columns || 80) - 1))
  }
}
