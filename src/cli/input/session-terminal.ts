import { stripVTControlCharacters } from 'node:util'
import type { Report } from '../../terminal/editor/key.ts'
import type { Terminal, TerminalListener } from '../../terminal/screen/screen.ts'
import type { Streams } from '../output/streams.ts'

/** Bracketed paste, and reports of the focus. */
const modesOn = '\u001b[?2004h\u001b[?1004h'
const modesOff = '\u001b[?1004l\u001b[?2004l'

/** The kitty keyboard protocol, which reports Shift-Enter. */
const keysOn = '\u001b[>1u'
const keysOff = '\u001b[<u'
/**
 * Asks for that protocol, and then for the attributes that every terminal reports (DA1). So there is a
 * reply in any case, and the terminal does not support the protocol if that is the first one.
 */
const keyboardQuery = '\u001b[?u\u001b[c'
/** In ms. A terminal replies in less, also over a slow connection. */
const replyWait = 500

const progressOn = '\u001b]9;4;3\u001b\\'
const progressOff = '\u001b]9;4;0\u001b\\'
/** In ms. Ghostty removes a progress that was not repeated for 15 s. */
const progressLasts = 5_000

/** In ms. In raw mode, stdin ends only if the terminal was closed, and then SIGHUP follows. */
const hangUpWait = 200

/**
 * The terminal of this process, for a session. Cells of the main screen only: no alternate screen,
 * and the mouse is the terminal's own.
 */
export class SessionTerminal implements Terminal {
  readonly canSuspend: boolean
  isOpen = false
  readonly #streams: Streams
  readonly #features: TerminalFeatures
  readonly #notifies: boolean
  #listener: TerminalListener | undefined
  #restore: (() => void) | undefined
  /** The time at which the reply to the query is given up. Undefined if none is due. */
  #replyDue: number | undefined
  #replied = new AbortController()
  #keyboard: 'unknown' | 'kitty' | 'other' = 'unknown'
  #hasKeysOn = false
  #hasFocus = true
  /** The time of the last `progressOn`. Undefined if no progress is shown. */
  #progressAt: number | undefined
  #isBusy = false

  /** @param notifies whether `notify` has an effect */
  constructor(streams: Streams, notifies: boolean) {
    this.#streams = streams
    this.#notifies = notifies
    const { env, platform } = streams.host
    this.canSuspend = platform !== 'win32'
    this.#features = findTerminalFeatures(env)
  }

  get columns(): number {
    return this.#streams.host.stdout.columns || 80
  }

  get rows(): number {
    return this.#streams.host.stdout.rows || 24
  }

  get awaitsReport(): boolean {
    return this.#replyDue !== undefined && this.#now() < this.#replyDue
  }

  write(text: string): void {
    this.#streams.writeTerminal(this.#progress() + text)
  }

  drained(): Promise<void> | undefined {
    return this.#streams.drainTerminal()
  }

  showProgress(isBusy: boolean): void {
    this.#isBusy = isBusy && this.#features.showsProgress
    const sequence = this.#progress()
    if (sequence !== '') this.#streams.writeTerminal(sequence)
  }

  notify(text: string): void {
    if (!this.#notifies || this.#hasFocus || !this.isOpen) return
    this.#streams.writeTerminal(this.#features.notification('chatctl', text))
  }

  open(listener: TerminalListener): void {
    this.#listener = listener
    this.isOpen = true
    const streams = this.#streams
    const { stdin, stdout, takeSignal, onExit } = streams.host
    const releaseInterrupts = takeSignal('SIGINT', () => listener.onInterrupt())
    // Without colors, because the session adds its own.
    const releaseLines = streams.takeLines((text) => listener.onLine(stripVTControlCharacters(text)))
    const restore = (): void => {
      this.#leaveModes()
      stdin.setRawMode(false)
    }
    const onEnd = (): void => {
      this.#endQuery()
      setTimeout(listener.onEnd, hangUpWait)
    }
    // A closed terminal rejects the mode, and may fail to read.
    stdin.on('error', onEnd)
    stdin.setRawMode(true)
    this.#enterModes()
    stdin.setEncoding('utf8')
    // Before raw mode, the system turned Enter into a line feed.
    let isTypedAhead = true
    const onInput = (text: string): void => {
      const [ahead = ''] = isTypedAhead ? text.split('\u001b', 1) : []
      isTypedAhead = false
      listener.onInput(ahead.replaceAll('\n', '\r') + text.slice(ahead.length))
    }
    stdin.on('data', onInput)
    stdin.on('end', onEnd)
    stdin.resume()
    stdout.on('resize', listener.onRedraw)
    // Restores the terminal for the shell, however this process ends.
    const withdrawCleanup = onExit(restore)
    this.#restore = () => {
      withdrawCleanup()
      stdout.off('resize', listener.onRedraw)
      stdin.off('data', onInput)
      stdin.off('end', onEnd)
      stdin.pause()
      restore()
      stdin.off('error', onEnd)
      releaseLines()
      releaseInterrupts()
    }
  }

  onReport({ name }: Report): void {
    if (name === 'focus' || name === 'blur') {
      this.#hasFocus = name === 'focus'
      return
    }
    if (name === 'keyboard') {
      this.#keyboard = 'kitty'
      if (this.isOpen) this.#turnKeysOn()
      return
    }
    if (this.#keyboard === 'unknown') this.#keyboard = 'other'
    this.#endQuery()
  }

  async close(): Promise<void> {
    this.isOpen = false
    // Whatever reads the terminal next must not receive the reply.
    if (this.#replyDue !== undefined && this.awaitsReport) {
      const { clock } = this.#streams.host
      await clock.sleep(this.#replyDue - this.#now(), this.#replied.signal).catch(() => {})
    }
    this.#restore?.()
    this.#restore = undefined
  }

  async lend<T>(use: () => Promise<T>): Promise<T> {
    await this.close()
    // Ctrl-C belongs to the other program. Both processes receive it.
    const release = this.#streams.host.takeSignal('SIGINT', () => {})
    try {
      return await use()
    } finally {
      release()
      if (this.#listener) this.open(this.#listener)
    }
  }

  async suspend(): Promise<void> {
    await this.close()
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

  #now(): number {
    return this.#streams.host.clock.monotonic()
  }

  #enterModes(): void {
    this.#hasFocus = true
    this.#streams.writeTerminal(modesOn)
    if (this.#keyboard === 'kitty') this.#turnKeysOn()
    if (this.#keyboard !== 'unknown') return
    this.#replied = new AbortController()
    this.#replyDue = this.#now() + replyWait
    this.#streams.writeTerminal(keyboardQuery)
  }

  #endQuery(): void {
    this.#replyDue = undefined
    this.#replied.abort()
  }

  #leaveModes(): void {
    const keys = this.#hasKeysOn ? keysOff : ''
    const progress = this.#progressAt === undefined ? '' : progressOff
    this.#hasKeysOn = false
    this.#progressAt = undefined
    this.#streams.writeTerminal(progress + keys + modesOff)
  }

  #turnKeysOn(): void {
    if (!this.#hasKeysOn) this.#streams.writeTerminal(keysOn)
    this.#hasKeysOn = true
  }

  /** The sequence, if one is due, that shows or removes the progress. */
  #progress(): string {
    if (!this.isOpen) return ''
    const at = this.#progressAt
    if (!this.#isBusy) {
      this.#progressAt = undefined
      return at === undefined ? '' : progressOff
    }
    const now = this.#now()
    if (at !== undefined && now - at < progressLasts) return ''
    this.#progressAt = now
    return progressOn
  }
}

/** Features for which a terminal cannot be asked, so that its name and version decide. */
interface TerminalFeatures {
  /** Whether it shows progress (OSC 9;4). Some others would show a notification with these numbers. */
  showsProgress: boolean
  /** The sequence that draws attention: a notification, or the bell. */
  notification(title: string, text: string): string
}

const oscStart = '\u001b]'
const oscEnd = '\u001b\\'
const bell = '\u0007'

/** The first versions that show progress. */
const showsProgressSince: Readonly<Record<string, string>> = {
  ghostty: '1.2.0',
  'iTerm.app': '3.6.6',
  WezTerm: '20250209',
}
/** VTE 0.80. */
const firstVte = 8000

function findTerminalFeatures(env: NodeJS.ProcessEnv): TerminalFeatures {
  const { TERM: type = '', TERM_PROGRAM: program = '' } = env
  const since = showsProgressSince[program]
  return {
    showsProgress:
      Boolean(env['WT_SESSION']) ||
      env['ConEmuANSI'] === 'ON' ||
      Number(env['VTE_VERSION']) >= firstVte ||
      (since !== undefined && !isOlder(env['TERM_PROGRAM_VERSION'] ?? '0', since)),
    notification: (title, text) => {
      if (program === 'iTerm.app') return `${oscStart}9;${title}: ${text}${oscEnd}`
      const hasTitles =
        /^(ghostty|WezTerm)$/.test(program) || /^(xterm-kitty|xterm-ghostty|foot|rxvt)/.test(type)
      return hasTitles ? `${oscStart}777;notify;${title};${text}${oscEnd}` : bell
    },
  }
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0
}
