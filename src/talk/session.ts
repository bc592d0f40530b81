import type { Client } from '../client/client.ts'
import type { ClientEvent } from '../client/client-event.ts'
import { Failure } from '../failure.ts'
import { answerPrompt, type CutAnswer } from './answer-prompt.ts'
import { asTyped } from './as-typed.ts'
import { beginConversation } from './begin-conversation.ts'
import { CompletionSource } from './completion-source.ts'
import { Conversation } from './conversation.ts'
import { editOutside } from './edit-outside.ts'
import { takeBackLastPrompt } from './keep-here.ts'
import { type Entry, Keyboard } from './keyboard.ts'
import type { Highlight } from './markdown/highlight.ts'
import { MarkdownWriter } from './markdown/markdown-writer.ts'
import { type AnswerWriter, PlainWriter } from './markdown/plain-writer.ts'
import { plainStyle } from './markdown/text-style.ts'
import type { Recorder } from './recorder.ts'
import { Screen } from './screen.ts'
import type { Beginning, SessionOptions, SessionStyle } from './session-options.ts'
import { showPrompt } from './show-earlier.ts'
import { runSlashCommand } from './slash/slash-commands.ts'
import { Status } from './status.ts'
import { stopped } from './take-turn.ts'
import { Voice } from './voice.ts'

/**
 * One session at a terminal: what a person types is either sent or a slash command, one at a time,
 * and can be typed ahead.
 */
export class Session {
  readonly options: SessionOptions
  readonly style: SessionStyle
  readonly screen: Screen
  readonly voice: Voice
  readonly status: Status
  readonly keyboard: Keyboard
  readonly completions: CompletionSource
  conversation = new Conversation()
  /** Both are there as soon as the session has begun. */
  recorder!: Recorder
  client!: Client
  /** Turns since the session was opened. */
  turns = 0
  /** What could not be sent. */
  unsent: string | undefined
  /** The last answer, where it did not come whole. */
  cutAnswer: CutAnswer | undefined
  /** Whether what is sent next takes the place of the last question. */
  replacesLastPrompt = false
  #work: AbortController | undefined
  #highlight: Highlight | undefined

  constructor(options: SessionOptions) {
    this.options = options
    this.style = options.style ?? { ...plainStyle, reverse: (text) => text }
    this.screen = new Screen(options.terminal)
    this.voice = new Voice(this.screen, this.style, options.isQuiet)
    this.status = new Status(() => this.keyboard.draw())
    this.completions = new CompletionSource(this)
    this.keyboard = new Keyboard(this)
  }

  /** Whether something is under way that Ctrl-C stops. */
  get isBusy(): boolean {
    return this.#work !== undefined
  }

  /** Whether nothing on the screen may change by itself. */
  get isStill(): boolean {
    return this.options.isPlain || !this.options.terminal.addressable
  }

  /**
   * Runs the session until the person leaves.
   *
   * @throws Failure where it cannot begin; the signal's reason
   */
  async run(): Promise<void> {
    const { signal, begin, serviceName, isPlain } = this.options
    const onAbort = (): void => this.#work?.abort(signal.reason)
    signal.addEventListener('abort', onAbort)
    try {
      this.client = await this.options.connect((event) => this.#observe(event))
      if (!isPlain) void this.#loadHighlight()
      await this.begin(begin, () => {
        this.voice.note(`chatctl · ${serviceName} · /help for commands, Ctrl-D leaves`)
        this.screen.separate()
      })
      this.keyboard.open()
      for (let entry = await this.keyboard.next(); entry; entry = await this.keyboard.next()) {
        await this.#take(entry)
      }
      signal.throwIfAborted()
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.status.clear()
      this.keyboard.close()
      this.recorder?.close()
    }
    this.#sayGoodbye()
  }

  /**
   * Begins anew, or goes on with another conversation.
   * @param greet is called before anything of it is shown
   */
  async begin(beginning: Beginning, greet = () => {}): Promise<void> {
    await this.stoppable((signal) => beginConversation(this, beginning, signal, greet))
  }

  /** For the next answer; one is for one. */
  createWriter(): AnswerWriter {
    const { isPlain, link } = this.options
    if (isPlain) return new PlainWriter()
    return new MarkdownWriter({
      columns: this.screen.columns,
      style: this.style,
      ...(link && { link }),
      ...(this.#highlight && { highlight: this.#highlight }),
    })
  }

  /** Sends a prompt; Ctrl-C stops the answer. */
  async send(prompt: string): Promise<void> {
    if (this.replacesLastPrompt) {
      try {
        await takeBackLastPrompt(this, 'the context would remember the question as it was')
      } catch (error) {
        this.giveBack(prompt)
        throw error
      }
    }
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

  stop(): void {
    this.#work?.abort(stopped)
  }

  /** Gives a prompt back to be sent again or changed. */
  giveBack(prompt: string): void {
    this.unsent = prompt
    if (!this.keyboard.putBack(asTyped(prompt))) this.voice.note('/retry sends it again.')
  }

  /** The person's own editor for the next prompt. */
  async editOutside(): Promise<void> {
    const { terminal, editorCommand } = this.options
    const { input } = this.keyboard
    this.screen.show(undefined)
    try {
      const text = await terminal.lend(() => editOutside(input.text, editorCommand))
      if (!input.setText(text)) this.keyboard.submit(text)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.voice.sayFailure(error)
    }
    this.keyboard.draw()
  }

  /** @throws what is no failure, or ends the session */
  async #take({ text, isShown }: Entry): Promise<void> {
    if (!isShown && this.options.terminal.addressable) showPrompt(this, text)
    try {
      if (!text.startsWith('/')) await this.send(text)
      else if (text.startsWith('//')) await this.send(text.slice(1))
      else {
        await runSlashCommand(this, text)
        this.screen.separate()
      }
    } catch (error) {
      if (this.options.signal.aborted || !(error instanceof Failure)) throw error
      this.voice.sayFailure(error)
      this.screen.separate()
    }
  }

  /** Meanwhile code is shown without colours. */
  async #loadHighlight(): Promise<void> {
    const { loadHighlight } = await import('./markdown/highlight.ts')
    this.#highlight = await loadHighlight()
  }

  #observe(event: ClientEvent): void {
    const { describeEvent } = this.options
    if (describeEvent) this.voice.say(describeEvent(event))
    // What Tab asks for is nothing that one waits for.
    if (!this.isBusy) return
    if (event.type === 'wait') {
      const at = Date.now() + event.after
      const words = (seconds: number): string =>
        `Rate limited; trying again in ${seconds} s (Ctrl-C: not now)`
      if (this.isStill) this.voice.note(words(Math.ceil(event.after / 1000)))
      else this.status.until(at, words)
    } else if (event.type === 'retry') {
      if (this.isStill) this.voice.note(`${event.reason}; trying again`)
      else this.status.since(`${event.reason}; trying again…`)
    } else if (event.type === 'request') this.status.request()
  }

  #sayGoodbye(): void {
    if (this.turns === 0) return
    const { recorder, options, turns } = this
    const resume = options.resumeCommand(recorder.id)
    this.voice.say(`${turns} ${turns === 1 ? 'turn' : 'turns'}. Resume with: ${resume}`)
  }
}
