import type { EditorEvent, EditorOptions } from '../terminal/editor/completer.ts'
import { Editor } from '../terminal/editor/editor.ts'
import { InputHistory } from '../terminal/editor/input-history.ts'
import { KeyDecoder } from '../terminal/editor/key-decoder.ts'
import { composeFooter, type Screen } from '../terminal/screen/screen.ts'
import type { Status } from '../terminal/screen/status.ts'
import type { SessionOptions, SessionStyle } from './session-options.ts'
import type { SessionOutput } from './session-output.ts'

export interface KeyboardHost {
  readonly options: SessionOptions
  readonly style: SessionStyle
  readonly screen: Screen
  readonly status: Status
  readonly output: SessionOutput
  /** Whether work is in progress that Ctrl-C stops. */
  readonly isBusy: boolean
  replacesLastPrompt: boolean
  complete: EditorOptions['complete']
  stop(): void
  openExternalEditor(): Promise<void>
}

/** A submitted text. */
export interface Entry {
  text: string
  /** Whether the screen already shows it. */
  isShown: boolean
}

/** Milliseconds within which a second Ctrl-C leaves. */
const leaveWithin = 2000
const leaveHint = 'Press Ctrl-C again or Ctrl-D to leave'
const bell = '\u0007'

/** Reads what the user types, at any time, and queues entries that are submitted while a reply arrives. */
export class Keyboard {
  readonly input: Editor
  readonly #decoder: KeyDecoder
  readonly #session: KeyboardHost
  readonly #queue: Entry[] = []
  #wake: (() => void) | undefined
  #hasLeft = false
  #mayLeaveUntil = Number.NEGATIVE_INFINITY

  constructor(session: KeyboardHost) {
    this.#session = session
    const { terminal, inputHistoryPath, run } = session.options
    const editor = new Editor({
      complete: (before) => session.complete(before),
      onEvent: (event) => this.#handle(event),
      onChange: () => this.draw(),
      recall: new InputHistory(inputHistoryPath, run.clock),
      style: session.style,
    })
    this.input = editor
    this.#decoder = new KeyDecoder({
      onKey: (key) => editor.handle(key),
      onReport: (report) => terminal.onReport(report),
      awaitsReport: () => terminal.awaitsReport,
    })
  }

  open(): void {
    const { terminal, run } = this.#session.options
    terminal.open({
      onInput: (text) => this.#decoder.push(text),
      onEnd: () => this.leave(),
      onInterrupt: () => this.#interruptBySignal(),
      onRedraw: () => this.draw(),
      onLine: (text) => this.#session.output.show(text),
    })
    run.signal.addEventListener('abort', () => this.leave(), { once: true })
  }

  async close(): Promise<void> {
    this.#decoder.close()
    this.#session.screen.show(undefined)
    await this.#session.options.terminal.close()
  }

  /** Waits for the next entry. Undefined when the user leaves. */
  async next(): Promise<Entry | undefined> {
    while (!this.#hasLeft) {
      const entry = this.#queue.shift()
      if (entry) return entry
      this.draw()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return undefined
  }

  leave(): void {
    this.#hasLeft = true
    this.#session.stop()
    this.#wake?.()
  }

  /**
   * Offers a text to be submitted again, unless the user has typed something since.
   * @returns whether the input contains it
   */
  offer(text: string): boolean {
    this.#moveQueueToInput()
    if (this.input.text !== '') return false
    this.input.offer(text)
    return true
  }

  /** Moves the queued entries back into the input, before the text that is being typed. */
  #moveQueueToInput(): void {
    const ahead = this.#queue.splice(0).map((entry) => entry.text)
    const texts = [...ahead, this.input.text].filter((part) => part !== '')
    if (ahead.length > 0) this.input.setText(texts.join('\n'))
  }

  submit(text: string): void {
    const isShown = !this.#session.isBusy && this.#queue.length === 0
    if (isShown) {
      // Keep the typed text on the screen, but not the status.
      this.#session.status.clear()
      this.draw()
      this.#session.screen.commitFooter()
    }
    this.#queue.push({ text, isShown })
    this.#wake?.()
  }

  /** Draws the footer. */
  draw(): void {
    const { options, screen, status, isBusy } = this.#session
    const { terminal, isPlain } = options
    if (!terminal.isOpen || this.#hasLeft) return
    // Submitted work is about to start.
    const isWaiting = isBusy || this.#queue.length > 0
    const footer = composeFooter({
      // A screen reader would read a changing status again and again.
      status: isPlain ? undefined : status.text,
      queued: isPlain ? [] : this.#queue.filter(({ isShown }) => !isShown).map(({ text }) => text),
      input: isWaiting && (isPlain || this.input.text === '') ? undefined : this.input,
      columns: screen.columns,
      rows: terminal.rows - 1,
      style: this.#session.style,
    })
    screen.show(footer)
  }

  #handle(event: EditorEvent): void {
    const { screen, options, isBusy } = this.#session
    switch (event.type) {
      case 'submit':
        this.submit(event.text)
        break
      case 'interrupt':
        this.#interrupt(event.text)
        break
      case 'end':
        this.leave()
        break
      case 'replace':
        this.#session.replacesLastPrompt = false
        break
      case 'suspend':
        if (!options.terminal.canSuspend) {
          options.terminal.write(bell)
          break
        }
        screen.show(undefined)
        screen.endLine()
        void options.terminal.suspend()
        break
      case 'edit-outside':
        if (isBusy) options.terminal.write(bell)
        else void this.#session.openExternalEditor()
        break
      case 'clear-screen':
        screen.clear()
        this.draw()
        break
      case 'bell':
        options.terminal.write(bell)
    }
  }

  #interruptBySignal(): void {
    const { text } = this.input
    this.input.setText('')
    this.#interrupt(text)
    this.draw()
  }

  #interrupt(cleared: string): void {
    const session = this.#session
    const { clock } = session.options.run
    if (session.isBusy) {
      session.stop()
      // The cleared text was typed after the queued entries.
      if (cleared !== '') this.input.setText(cleared)
      this.#moveQueueToInput()
      return
    }
    session.replacesLastPrompt = false
    if (cleared !== '') {
      this.input.setText('')
      return
    }
    const now = clock.monotonic()
    if (now < this.#mayLeaveUntil) {
      this.leave()
      return
    }
    this.#mayLeaveUntil = now + leaveWithin
    if (session.options.isPlain) session.output.note(leaveHint)
    else session.status.showBriefly(leaveHint, leaveWithin)
  }
}
