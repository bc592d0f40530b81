import { Failure } from '../../contract/failure.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import type { Host } from '../host.ts'

const eraseLine = '\r\u001b[2K'

/** stdout is data, stderr is conversation: all that a run writes to either goes through here. */
export class Streams {
  readonly host: Host
  readonly #ending = new AbortController()
  #isUnread = false
  #lineTaker: ((text: string) => void) | undefined
  #statusLine = ''
  #stdoutError: NodeJS.ErrnoException | undefined

  constructor(host: Host) {
    this.host = host
  }

  /** Aborted when the host's signal is, and when stdout has no reader any more. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** Whether the reader of stdout, such as `head`, has seen enough: nothing more is said then. */
  get isUnread(): boolean {
    return this.#isUnread
  }

  /** Whether a person can answer: questions are read from stdin and asked on stderr. */
  get isInteractive(): boolean {
    const { stdin, stderr } = this.host.isTerminal
    return stdin && stderr
  }

  /** Whether a person reads what is said. */
  get isWatched(): boolean {
    return this.host.isTerminal.stderr
  }

  /** Columns for messages; a file or a pipe has no limit, and a session wraps them itself. */
  get messageWidth(): number {
    return this.isWatched && !this.#lineTaker ? this.host.stderr.columns || 80 : Infinity
  }

  /** Whether a person sees what is written and types what is read. */
  get isConversation(): boolean {
    const { stdin, stdout } = this.host.isTerminal
    return stdin && stdout
  }

  /** Whether a person, rather than a program, sees what is written. */
  get isShown(): boolean {
    return this.host.isTerminal.stdout
  }

  /** @throws Failure `storage` where stdout is closed, so that a result would be lost */
  demandOpenStdout(): void {
    if (!this.host.isStdoutClosed()) return
    throw new Failure('storage', 'stdout is closed, so the result cannot be written', {
      hint: 'Redirect stdout to a file, or to /dev/null to discard the result.',
    })
  }

  /**
   * Writes and waits until the reader has taken it.
   *
   * @throws Failure `storage` when stdout is closed, or the other end cannot keep it, as on a full disk
   */
  async writeData(text: string | Uint8Array): Promise<void> {
    this.demandOpenStdout()
    if (this.#statusLine !== '') this.drawStatus('')
    return new Promise((resolve, reject) => {
      this.host.stdout.write(text, (error) => {
        if (!error) return resolve()
        reject(new Failure('storage', `Cannot write to stdout: ${error.message}`, { cause: error }))
      })
    })
  }

  /** What a session draws: data and conversation are one there, and both on stdout. */
  writeTerminal(text: string): void {
    this.host.stdout.write(text)
  }

  /** Resolves when the terminal has taken what was written; undefined where it has. */
  drainTerminal(): Promise<void> | undefined {
    const { stdout } = this.host
    if (!stdout.writableNeedDrain) return undefined
    return new Promise((resolve) => stdout.once('drain', resolve))
  }

  /** One line, or several, for the person; what came from elsewhere cannot steer the terminal. */
  say(text: string): void {
    this.sayStyled(stripControls(text))
  }

  /** For lines that carry our own colors; whatever they quote was stripped before. */
  sayStyled(text: string): void {
    if (this.#isUnread) return
    const { stderr } = this.host
    if (this.#lineTaker) this.#lineTaker(text)
    else if (this.#statusLine === '') stderr.write(`${text}\n`)
    else stderr.write(`${eraseLine}${text}\n${this.#statusLine}`)
  }

  /** What a person types, where the terminal does not show it by itself. */
  echoTyped(text: string): void {
    this.host.stderr.write(text)
  }

  /**
   * Has the lines for the person given to whoever has the screen, for they would be drawn over.
   * @returns to be called when stderr gets them again
   */
  takeLines(onLine: (text: string) => void): () => void {
    this.#lineTaker = onLine
    return () => {
      this.#lineTaker = undefined
    }
  }

  /** Draws over the last line of a terminal on stderr; what is said meanwhile goes above it. */
  drawStatus(text: string): void {
    if (this.#isUnread) return
    this.#statusLine = stripControls(text)
    this.host.stderr.write(`${eraseLine}${this.#statusLine}`)
  }

  /** @throws Failure `storage` when something that did not wait, such as help, could not be written */
  async demandWholeStdout(): Promise<void> {
    // The stream tells of it in a turn of its own, after all that waits for a promise.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    if (this.#stdoutError) {
      throw new Failure('storage', `Cannot write to stdout: ${this.#stdoutError.message}`)
    }
  }

  /**
   * Follows the host's signal and the errors of stdout and stderr. A reader that has seen enough is no
   * failure, and ends the run; what else goes wrong with stdout `writeData` throws. Nobody listens to a
   * closed stderr.
   *
   * @returns stops watching
   */
  watch(): () => void {
    const { stdout, stderr, signal } = this.host
    const onError = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'EPIPE') this.#abandon()
      else this.#stdoutError = error
    }
    const onAbort = () => this.#ending.abort(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const ignore = () => {}
    stdout.on('error', onError)
    stderr.on('error', ignore)
    return () => {
      stdout.off('error', onError)
      stderr.off('error', ignore)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #abandon(): void {
    this.host.onReaderGone()
    this.#isUnread = true
    this.#ending.abort(new Failure('storage', 'stdout is closed by its reader'))
  }
}
