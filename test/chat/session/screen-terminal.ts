import xterm from '@xterm/headless'
import type { Report } from '../../../src/terminal/editor/key.ts'
import type { Terminal } from '../../../src/terminal/screen/screen.ts'
import { until } from '../../support/until.ts'

/** A terminal without a process: xterm.js renders the output of a session. */
export class ScreenTerminal implements Terminal {
  readonly canSuspend = true
  readonly awaitsReport = false
  isOpen = false
  readonly reports: Report['name'][] = []
  readonly progress: boolean[] = []
  readonly notifications: string[] = []
  readonly #screen: xterm.Terminal
  #listener: Parameters<Terminal['open']>[0] | undefined

  constructor(columns = 80, rows = 60) {
    this.#screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 10_000 })
  }

  get columns(): number {
    return this.#screen.cols
  }

  get rows(): number {
    return this.#screen.rows
  }

  write(text: string): void {
    this.#screen.write(text)
  }

  drained(): undefined {
    return undefined
  }

  open(listener: Parameters<Terminal['open']>[0]): void {
    this.#listener = listener
    this.isOpen = true
  }

  onReport(report: Report): void {
    this.reports.push(report.name)
  }

  showProgress(isBusy: boolean): void {
    this.progress.push(isBusy)
  }

  notify(text: string): void {
    this.notifications.push(text)
  }

  async close(): Promise<void> {
    this.isOpen = false
  }

  async lend<T>(use: () => Promise<T>): Promise<T> {
    return use()
  }

  async suspend(): Promise<void> {}

  type(text: string): void {
    this.#listener?.onInput(text)
  }

  resize(columns: number): void {
    this.#screen.resize(columns, this.#screen.rows)
    this.#listener?.onRedraw()
  }

  /** All lines, including those that have scrolled off the screen. */
  async text(): Promise<string> {
    await new Promise<void>((resolve) => this.#screen.write('', resolve))
    const { active } = this.#screen.buffer
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row))
    return lines
      .map((line) => line?.translateToString(true) ?? '')
      .join('\n')
      .trimEnd()
  }

  /** Waits until the words are shown, and returns all lines. */
  async waitFor(words: string | RegExp): Promise<string> {
    let seen = ''
    const isShown = async () => {
      seen = await this.text()
      return typeof words === 'string' ? seen.includes(words) : words.test(seen)
    }
    await until(isShown).catch(() => {
      throw new Error(`waited for ${words} in:\n${seen}`)
    })
    return seen
  }
}
