import { Failure } from '../../contract/failure.ts'
import { stripControls, withoutLogCommands } from '../../terminal/strip-controls.ts'
import type { Host } from '../host.ts'
import { asTyped } from '../static-plugin.ts'

const eraseLine = '\r\u001b[2K'

/** Writes data to stdout and messages to stderr. */
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

  /** Whether the reader of stdout, such as `head`, has closed it. Then nothing more is written. */
  get isUnread(): boolean {
    return this.#isUnread
  }

  /** Whether prompts are possible: stdin and stderr are terminals. */
  get isInteractive(): boolean {
    const { stdin, stderr } = this.host.isTerminal
    return stdin && stderr
  }

  /** Whether stderr is a terminal. */
  get isWatched(): boolean {
    return this.host.isTerminal.stderr
  }

  /** Columns for messages. A file or a pipe has no limit, and a session wraps messages itself. */
  get messageWidth(): number {
    return this.isWatched && !this.#lineTaker ? this.host.stderr.columns || 80 : Infinity
  }

  /** Whether stdin and stdout are terminals, as a session requires. */
  get isConversation(): boolean {
    const { stdin, stdout } = this.host.isTerminal
    return stdin && stdout
  }

  /** Whether stdout is a terminal. */
  get isShown(): boolean {
    return this.host.isTerminal.stdout
  }

  /**
   * Writes and waits until the reader has taken it.
   * @throws Failure `storage` if it cannot be written, as on a full disk
   */
  async writeData(text: string | Uint8Array): Promise<void> {
    if (this.#statusLine !== '') this.drawStatus('')
    return new Promise((resolve, reject) => {
      this.host.stdout.write(text, (error) => {
        if (!error) return resolve()
        reject(new Failure('storage', `Cannot write to stdout: ${error.message}`, { cause: error }))
      })
    })
  }

  /** Output of a session, which draws data and messages on stdout. */
  writeTerminal(text: string): void {
    this.host.stdout.write(text)
  }

  /** Resolves when the terminal has taken all output; undefined if it already has. */
  drainTerminal(): Promise<void> | undefined {
    const { stdout } = this.host
    if (!stdout.writableNeedDrain) return undefined
    return new Promise((resolve) => stdout.once('drain', resolve))
  }

  /** Writes a message to stderr, without control characters of the service. */
  say(text: string): void {
    this.sayStyled(stripControls(text))
  }

  /** For messages with colors. The caller has removed control characters from quoted values. */
  sayStyled(message: string): void {
    if (this.#isUnread) return
    const { stderr } = this.host
    // Messages quote files and services, and CI systems run commands that they find in a log.
    const text = withoutLogCommands(asTyped(message, this.host))
    if (this.#lineTaker) this.#lineTaker(text)
    else if (this.#statusLine === '') stderr.write(`${text}\n`)
    else stderr.write(`${eraseLine}${text}\n${this.#statusLine}`)
  }

  /**
   * Passes messages to a session, which would otherwise draw over them.
   * @returns function that sends messages to stderr again
   */
  takeLines(onLine: (text: string) => void): () => void {
    this.#lineTaker = onLine
    return () => {
      this.#lineTaker = undefined
    }
  }

  /** Redraws the last line of the terminal on stderr, truncated to it. Messages appear above it. */
  drawStatus(text: string): void {
    if (this.#isUnread) return
    this.#statusLine = stripControls(text).slice(0, (this.host.stderr.columns || 80) - 1)
    this.host.stderr.write(`${eraseLine}${this.#statusLine}`)
  }

  /** @throws Failure `storage` if an earlier write to stdout failed */
  async demandWholeStdout(): Promise<void> {
    // The stream reports the error in a later tick, after pending promises.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    if (this.#stdoutError) {
      throw new Failure('storage', `Cannot write to stdout: ${this.#stdoutError.message}`)
    }
  }

  /**
   * Follows the host's signal and the errors of stdout. A closed stdout ends the run without a failure;
   * `writeData` throws other errors of stdout.
   * @returns function that stops watching
   */
  watch(): () => void {
    const { stdout, signal } = this.host
    const onError = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'EPIPE') this.#abandon()
      else this.#stdoutError = error
    }
    const onAbort = () => this.#ending.abort(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    stdout.on('error', onError)
    return () => {
      stdout.off('error', onError)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #abandon(): void {
    this.host.onReaderGone()
    this.#isUnread = true
    this.#ending.abort(new Failure('storage', 'stdout is closed by its reader'))
  }
}
