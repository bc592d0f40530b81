import type { Output } from './output.ts'

/** Interval between two updates in ms: redrawn in a terminal, otherwise new lines. */
const intervals = { drawn: 100, lines: 10_000 }

/** What a long command has done so far, on stderr. */
export class ProgressLine {
  readonly #output: Output
  readonly #isDrawn: boolean
  #dueAt: number
  #isShown = false

  constructor(output: Output, now = output.streams.host.clock.now()) {
    this.#output = output
    this.#isDrawn = output.canRedraw
    // Outside a terminal, short work writes no line.
    this.#dueAt = now + (this.#isDrawn ? 0 : intervals.lines)
  }

  /**
   * @param describe called only for an update that is shown
   * @param part 0 to 1, for a bar; a pipe or a file gets none
   */
  show(describe: () => string, part?: number, now = this.#output.streams.host.clock.now()): void {
    if (now < this.#dueAt) return
    this.#dueAt = now + (this.#isDrawn ? intervals.drawn : intervals.lines)
    if (!this.#isDrawn) {
      this.#output.progress(describe())
      return
    }
    this.#isShown = true
    const bar = part === undefined ? '' : `${drawBar(part)}  `
    const { streams } = this.#output
    streams.drawStatus(`${bar}${describe()}`.slice(0, (streams.host.stderr.columns || 80) - 1))
  }

  /** Leaves an empty line to go on from. */
  end(): void {
    if (this.#isShown) this.#output.streams.drawStatus('')
    this.#isShown = false
  }
}

/** @param part 0 to 1 */
export function drawBar(part: number, width = 20): string {
  const share = Math.min(1, Math.max(0, part))
  const full = Math.round(share * width)
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${Math.floor(share * 100)}%`
}
