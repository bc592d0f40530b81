import { stripVTControlCharacters } from 'node:util'
import type { TerminalListener } from '../../terminal/screen/terminal.ts'
import type { Streams } from '../output/streams.ts'

const pasteOn = '\u001b[?2004h'
const pasteOff = '\u001b[?2004l'

/** In ms. In raw mode, stdin ends only if the terminal was closed, and then SIGHUP follows. */
const hangUpWait = 200

/** Terminals that support the kitty keyboard protocol, which reports Shift-Enter. */
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
    // Without colors, because the session adds its own.
    const releaseLines = streams.takeLines((text) => listener.onLine(stripVTControlCharacters(text)))
    const restore = (): void => {
      if (raw) streams.writeTerminal(pasteOff + (this.#tellsKeysApart ? keysOff : ''))
      if (raw) stdin.setRawMode(false)
    }
    const onEnd = (): void => {
      setTimeout(listener.onEnd, raw ? hangUpWait : 0)
    }
    // A closed terminal rejects the mode, and may fail to read.
    stdin.on('error', onEnd)
    if (raw) stdin.setRawMode(true)
    if (raw) streams.writeTerminal(pasteOn + (this.#tellsKeysApart ? keysOn : ''))
    stdin.setEncoding('utf8')
    stdin.on('data', listener.onInput)
    stdin.on('end', onEnd)
    stdin.resume()
    stdout.on('resize', listener.onRedraw)
    // Restores the terminal for the shell, however this process ends.
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
    // Ctrl-C belongs to the other program. Both processes receive it.
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
    // Without job control, the signal has no effect and SIGCONT never arrives.
    const timer = setTimeout(resume, 50)
    raise('SIGTSTP')
  }
}
