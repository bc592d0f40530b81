import type { Client } from '../client/client.ts'
import type { ClientEvent } from '../client/client-event.ts'
import { stripControls } from '../view/strip-controls.ts'
import { answerPrompt, type CutAnswer } from './answer-prompt.ts'
import { Failure } from '../failure.ts'
import { beginConversation } from './begin-conversation.ts'
import { CompletionSource } from './completion-source.ts'
import { composeFooter } from './compose-footer.ts'
import { Conversation } from './conversation.ts'
import { editOutside } from './edit-outside.ts'
import { takeBackLastPrompt } from './keep-here.ts'
import type { AnswerWriter } from './markdown/answer-writer.ts'
import type { Highlight } from './markdown/highlight.ts'
import { MarkdownWriter } from './markdown/markdown-writer.ts'
import { PlainWriter } from './markdown/plain-writer.ts'
import { openInput } from './open-input.ts'
import type { Recorder } from './recorder.ts'
import { Screen } from './screen.ts'
import type { InputEvent, SessionInput } from './session-input.ts'
import type { Beginning, SessionOptions } from './session-options.ts'
import { runSlashCommand } from './slash/slash-commands.ts'
import { showPrompt } from './show-earlier.ts'
import { Status } from './status.ts'
import { stopped } from './take-turn.ts'

/** ms within which a second Ctrl-C leaves. */
const leaveWithin = 2000
const leaveHint = 'Ctrl-C again or Ctrl-D leaves'
const bell = '\u0007'

/**
 * One session at a terminal: what a person types is either sent or a slash command, one at a time,
 * and can be typed ahead.
 */
export class Session {
  readonly options: SessionOptions
  readonly screen: Screen
  readonly status: Status
  readonly input: SessionInput
  readonly completions: CompletionSource
  conversation = new Conversation()
  /** Set as soon as the session has begun. */
  recorder!: Recorder
  client!: Client
  /** Turns since the session was opened. */
  turns = 0
  /** What could not be sent, where nothing came back and nothing was recorded as said. */
  unsent: string | undefined
  /** The last answer, where it did not come whole. */
  cutAnswer: CutAnswer | undefined
  /** Whether what is sent next takes the place of the last question. */
  replacesLastPrompt = false
  #queue: Entry[] = []
  #highlight: Highlight | undefined
  #work: AbortController | undefined
  #wake: (() => void) | undefined
  #isLeaving = false
  #mayLeaveUntil = 0

  constructor(options: SessionOptions) {
    this.options = options
    this.screen = new Screen(options.terminal)
    this.status = new Status(() => this.#draw())
    this.completions = new CompletionSource(this)
    this.input = openInput(options, {
      complete: (before) => this.completions.complete(before),
      onEvent: (event) => this.#handle(event),
      onChange: () => this.#draw(),
    })
  }

  /**
   * Runs the session until the person leaves.
   *
   * @throws Failure where it cannot begin; the signal's reason
   */
  async run(): Promise<void> {
    const { terminal, signal, begin, isPlain } = this.options
    const onAbort = (): void => {
      this.#work?.abort(signal.reason)
      this.#wake?.()
    }
    signal.addEventListener('abort', onAbort)
    try {
      this.client = await this.options.connect((event) => this.#observe(event))
      this.#greet()
      if (!isPlain) this.#loadHighlight()
      await this.begin(begin)
      terminal.open({
        onInput: (text) => this.input.feed(text),
        onEnd: () => this.leave(),
        onInterrupt: () => this.#interrupt(''),
        onRedraw: () => this.#draw(),
      })
      await this.#loop()
      signal.throwIfAborted()
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.status.clear()
      this.input.close()
      this.screen.show(undefined)
      terminal.close()
      this.recorder?.close()
    }
    this.#sayGoodbye()
  }

  /** Begins anew, or goes on with another conversation. */
  async begin(beginning: Beginning): Promise<void> {
    await this.stoppable((signal) => beginConversation(this, beginning, signal))
    this.turns = 0
    this.unsent = undefined
  }

  /** For the next answer; one is for one. */
  createWriter(): AnswerWriter {
    const { isPlain, style, link, terminal } = this.options
    if (isPlain) return new PlainWriter()
    return new MarkdownWriter({
      columns: terminal.columns - 1,
      style,
      ...(link && { link }),
      ...(this.#highlight && { highlight: this.#highlight }),
    })
  }

  leave(): void {
    this.#isLeaving = true
    this.#work?.abort(stopped)
    this.#wake?.()
  }

  /** Whole lines for the person; what they quote cannot steer the terminal. */
  say(text: string): void {
    this.screen.appendLines(stripControls(text))
  }

  /** The same, of less weight. */
  note(text: string): void {
    if (this.options.isQuiet) return
    const { dim } = this.options.style
    this.screen.appendLines(
      stripControls(text)
        .split('\n')
        .map((line) => dim(line))
        .join('\n'),
    )
  }

  /** Sends a prompt; Ctrl-C stops the answer. */
  async send(prompt: string): Promise<void> {
    if (this.replacesLastPrompt) await takeBackLastPrompt(this, 'the context would remember the question as it was')
    await this.stoppable((signal) => answerPrompt(this, prompt, signal))
  }

  /** Work that Ctrl-C ends. */
  async stoppable(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.options
    signal.throwIfAborted()
    const controller = new AbortController()
    this.#work = controller
    try {
      await work(controller.signal)
    } catch (error) {
      if (controller.signal.reason !== stopped) throw error
    } finally {
      this.#work = undefined
      this.status.clear()
    }
  }

  /** Gives a text back to be sent again or changed; what was typed meanwhile stays behind it. */
  giveBack(text: string): void {
    this.unsent = text
    const ahead = this.#queue.splice(0).map((entry) => entry.text)
    if (!this.#putBack([text, ...ahead, this.input.text])) this.note('/retry sends it again.')
  }

  /** @param hint where the failure has none of its own */
  sayFailure(failure: Failure, hint?: string): void {
    const { red } = this.options.style
    this.screen.appendLines(`${red('Error:')} ${stripControls(failure.message)}`)
    const next = failure.hint ?? hint
    if (next) this.note(next)
  }

  /** The person's own editor for the next prompt. */
  async editOutside(): Promise<void> {
    const { terminal, editorCommand } = this.options
    this.screen.show(undefined)
    try {
      const text = await terminal.lend(() => editOutside(this.input.text, editorCommand))
      if (!this.input.setText(text)) this.#submit(text)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.sayFailure(error)
    }
    this.#draw()
  }

  #greet(): void {
    this.note(`chatctl · ${this.options.serviceName} · /help for commands, Ctrl-D leaves\n`)
  }

  /** Meanwhile code is shown without colours. */
  async #loadHighlight(): Promise<void> {
    const { loadHighlight } = await import('./markdown/highlight.ts')
    this.#highlight = await loadHighlight()
  }

  async #loop(): Promise<void> {
    const { signal, terminal } = this.options
    while (!this.#isLeaving && !signal.aborted) {
      const entry = this.#queue.shift()
      if (entry) {
        if (!entry.isShown && terminal.addressable) showPrompt(this, entry.text)
        await this.#take(entry.text)
        continue
      }
      if (terminal.addressable) this.#draw()
      else terminal.write('> ')
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** @throws what is no failure, or ends the session */
  async #take(text: string): Promise<void> {
    try {
      if (!text.startsWith('/')) await this.send(text)
      else if (text.startsWith('//')) await this.send(text.slice(1))
      else await runSlashCommand(this, text)
    } catch (error) {
      if (this.options.signal.aborted || !(error instanceof Failure)) throw error
      this.sayFailure(error)
    }
  }

  #handle(event: InputEvent): void {
    switch (event.type) {
      case 'submit':
        return this.#submit(event.text)
      case 'interrupt':
        return this.#interrupt(event.text)
      case 'end':
        return this.leave()
      case 'suspend':
        this.screen.show(undefined)
        return this.options.terminal.suspend()
      case 'edit-outside':
        if (this.#work) return this.options.terminal.write(bell)
        return void this.editOutside()
      case 'clear-screen':
        this.screen.clear()
        return this.#draw()
      case 'bell':
        return this.options.terminal.write(bell)
    }
  }

  #submit(text: string): void {
    const isShown = this.#work === undefined && this.#queue.length === 0
    if (isShown) this.screen.keepFooter()
    this.#queue.push({ text, isShown })
    this.#wake?.()
  }

  #interrupt(cleared: string): void {
    if (this.#work) {
      this.#work.abort(stopped)
      this.#putBack([...this.#queue.splice(0).map(({ text }) => text), cleared])
      return
    }
    this.replacesLastPrompt = false
    if (cleared === '') {
      if (Date.now() < this.#mayLeaveUntil) return this.leave()
      this.#mayLeaveUntil = Date.now() + leaveWithin
      if (this.#isQuiet) this.note(leaveHint)
      else this.status.briefly(leaveHint, leaveWithin)
    }
  }

  #putBack(texts: string[]): boolean {
    const text = texts.filter((part) => part !== '').join('\n')
    return text === '' || this.input.setText(text)
  }

  /** Where nothing on the screen may change. */
  get #isQuiet(): boolean {
    return this.options.isPlain || !this.options.terminal.addressable
  }

  #observe(event: ClientEvent): void {
    const { describeEvent } = this.options
    if (describeEvent) this.say(describeEvent(event))
    // What Tab asks for is nothing that one waits for.
    if (!this.#work) return
    if (event.type === 'wait') {
      const at = Date.now() + event.after
      const words = (seconds: number): string => `Rate limited; trying again in ${seconds} s (Ctrl-C: not now)`
      if (this.#isQuiet) this.note(words(Math.ceil(event.after / 1000)))
      else this.status.until(at, words)
    } else if (event.type === 'retry') {
      if (this.#isQuiet) this.note(`${event.reason}; trying again`)
      else this.status.since(`${event.reason}; trying again…`)
    } else if (event.type === 'request' && !this.#isQuiet) this.status.since('waiting…')
  }

  #draw(): void {
    const { terminal, isPlain, style } = this.options
    if (!terminal.addressable) return
    const isBusy = this.#work !== undefined
    const { columns, rows } = terminal
    const footer = composeFooter({
      // What moves on its own is nothing for a screen reader.
      status: isPlain ? undefined : this.status.text,
      queued: this.#queue.map(({ text }) => text),
      input: isBusy && (isPlain || this.input.text === '') ? undefined : this.input,
      columns: columns - 1,
      rows: rows - 1,
      style,
    })
    this.screen.show(footer)
  }

  #sayGoodbye(): void {
    if (this.turns === 0) return
    const { recorder, options, turns } = this
    const words = `${turns} ${turns === 1 ? 'turn' : 'turns'}. Resume with: ${options.resumeCommand(recorder.id)}`
    this.say(words)
  }
}

interface Entry {
  text: string
  /** Whether it stands on the screen already. */
  isShown: boolean
}
