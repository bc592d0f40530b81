import { stripVTControlCharacters } from 'node:util'
import type { TerminalListener } from '../../terminal/screen/terminal.ts'
import type { Streams } from '../output/streams.ts'

const pasteOn = '\u001b[?2004h'
const pasteOff = '\u001b[?2004l'

/** ms: in raw mode only a terminal that is gone ends, and SIGHUP, which is on its way, says so better. */
const hangUpWait = 200

/** Terminals of which it is known that they understand the kitty protocol, by which Shift-Enter is told. */
const tellsKeysApart = /kitty|ghostty|foot|wezterm|iterm/i
const keysOn = '\u001b[>1u'
const keysOff = '\u001b[<u'

/**
 * The terminal of this process, for a session. Cells of the main screen only: no alternate screen,
 * and the mouse is the terminal's own.
 */
export class SessionTerminal {
  readonly addressable: boolean
  readonly #streams: Streams
  readonly #tellsKeysApart: boolean
  #listener: TerminalListener | undefined
  #restore: (() => void) | undefined

  constructor(streams: Streams) {
    this.#streams = streams
    const { env } = streams.host
    const { TERM: type = '', TERM_PROGRAM: program = '' } = env
    this.addressable = process.platform === 'win32' || (type !== '' && type !== 'dumb')
    this.#tellsKeysApart = this.addressable && tellsKeysApart.test(`${type} ${program}`)
  }

  get columns(): number {
    return this.#streams.host.stdout.columns || 80
  }

  get rows(): number {
    return this.#streams.host.stdout.rows || 24
  }

  get isOpen(): boolean {
    return this.#restore !== undefined
  }

  write(text: string): void {
    this.#streams.writeTerminal(text)
  }

  drained(): Promise<void> | undefined {
    return this.#streams.drainTerminal()
  }

  open(listener: TerminalListener): void {
    this.#listener = listener
    const streams = this.#streams
    const { stdin, stdout, takeInterrupts, onExit } = streams.host
    const raw = this.addressable
    const releaseInterrupts = takeInterrupts(() => listener.onInterrupt())
    // They may carry colors of ours, which the session has of its own.
    const releaseLines = streams.takeLines((text) => listener.onLine(stripVTControlCharacters(text)))
    const restore = (): void => {
      if (raw) streams.writeTerminal(pasteOff + (this.#tellsKeysApart ? keysOff : ''))
      if (raw) stdin.setRawMode(false)
    }
    const onEnd = (): void => {
      setTimeout(listener.onEnd, raw ? hangUpWait : 0)
    }
    // A terminal that is gone takes no mode, and may be read no more.
    stdin.on('error', onEnd)
    if (raw) stdin.setRawMode(true)
    if (raw) streams.writeTerminal(pasteOn + (this.#tellsKeysApart ? keysOn : ''))
    stdin.setEncoding('utf8')
    stdin.on('data', listener.onInput)
    stdin.on('end', onEnd)
    stdin.resume()
    stdout.on('resize', listener.onRedraw)
    // However this process ends, the shell gets its terminal back.
    const withdrawCleanup = onExit(restore)
    this.#restore = () => {
      withdrawCleanup()
      stdout.off('resize', listener.onRedraw)
      stdin.off('data', listener.onInput)
      stdin.off('end', onEnd)
      stdin.pause()
      restore()
      stdin.off('error', onEnd)
      releaseLines()
      releaseInterrupts()
    }
  }

  close(): void {
    this.#restore?.()
    this.#restore = undefined
  }

  async lend<T>(use: () => Promise<T>): Promise<T> {
    this.close()
    // Ctrl-C is for the other program; both get it.
    const release = this.#streams.host.takeInterrupts(() => {})
    try {
      return await use()
    } finally {
      release()
      if (this.#listener) this.open(this.#listener)
    }
  }

  suspend(): void {
    this.close()
    const { onContinue, raise } = this.#streams.host
    const resume = (): void => {
      clearTimeout(timer)
      stopListening()
      if (this.isOpen || !this.#listener) return
      this.open(this.#listener)
      this.#listener.onRedraw()
    }
    const stopListening = onContinue(resume)
    // Where nobody could continue us the signal does nothing, and nobody does.
    const timer = setTimeout(resume, 50)
    raise('SIGTSTP')
  }
}
