import type { Client } from '../client/client.ts'
import { Failure } from '../contract/failure.ts'
import { splitFiles } from '../contract/resources/file-block.ts'
import { editOutside } from '../system/external-editor.ts'
import { markAgain, markPasted, plainText } from '../terminal/editor/pasted-text.ts'
import type { Highlight } from '../terminal/markdown/code-block.ts'
import { MarkdownWriter } from '../terminal/markdown/markdown-writer.ts'
import { PlainWriter, type ReplyWriter } from '../terminal/markdown/plain-writer.ts'
import { plainStyle } from '../terminal/markdown/text-style.ts'
import { Screen } from '../terminal/screen/screen.ts'
import { Status } from '../terminal/screen/status.ts'
import { Attachments } from './attachments.ts'
import { Conversation } from './conversation.ts'
import type { ConversationStart } from './conversation-start.ts'
import { Keyboard, type KeyboardHost } from './keyboard.ts'
import { type OpenedConversation, openConversation } from './open-conversation.ts'
import type { PartialReply } from './reply/conversation-mode.ts'
import type { Recorder } from './reply/recorder.ts'
import { PlainReasoningWriter, ReasoningWriter, silentWriter } from './reply/reply-display.ts'
import { stopped, type UnsentPrompt } from './reply/send-prompt.ts'
import type { SessionOptions, SessionStyle } from './session-options.ts'
import { SessionOutput } from './session-output.ts'

/** Milliseconds after which the user may have turned to another window. */
const longWork = 20_000

/** The state and the parts of a session in a terminal. */
export class Session implements KeyboardHost {
  readonly options: SessionOptions
  readonly style: SessionStyle
  readonly screen: Screen
  readonly output: SessionOutput
  readonly status: Status
  readonly keyboard: Keyboard
  readonly complete: KeyboardHost['complete']
  readonly models: Models
  readonly attachments: Attachments
  conversation = new Conversation()
  /** Set before the session reads its first entry, as is `client`. */
  recorder!: Recorder
  client!: Client
  unsent: UnsentPrompt | undefined
  /** The last reply, if it is incomplete. */
  partialReply: PartialReply | undefined
  replacesLastPrompt = false
  /** Whether the reasoning of the model is shown before its reply. */
  showsReasoning = false
  /** Whether the service streams completions. Undefined before the first one. */
  streamsCompletions: boolean | undefined
  /** Until it is loaded, code has no colors. */
  highlight: Highlight | undefined
  /** The last message, and its text as it was entered: with the marks of what was pasted. */
  entered = { message: '', text: '' }
  #work: AbortController | undefined

  /** @param complete returns the completions of the line up to the cursor */
  constructor(options: SessionOptions, complete: KeyboardHost['complete']) {
    this.options = options
    this.models = new Models(options.firstModelReplies)
    this.attachments = new Attachments(options.run, options.maxFileBytes)
    this.style = options.style ?? { ...plainStyle, reverse: (text) => text }
    this.screen = new Screen(options.terminal)
    const { screen, style } = this
    this.output = new SessionOutput({
      screen,
      style,
      isQuiet: options.isQuiet,
      describeFailure: options.describeFailure,
      createWriter: () => this.createWriter(true),
    })
    this.status = new Status(() => this.keyboard.draw(), options.run.clock)
    this.complete = complete
    this.keyboard = new Keyboard(this)
  }

  /** Whether work is in progress that Ctrl-C stops. */
  get isBusy(): boolean {
    return this.#work !== undefined
  }

  /** Opens a conversation, switches to it, and discards all state of the last one. */
  async begin(
    begin: ConversationStart,
    signal: AbortSignal,
    fork?: string | true,
  ): Promise<OpenedConversation> {
    const { run, model, isModelExplicit, isRecorded } = this.options
    const {
      client,
      conversation: current,
      recorder: { path: openPath } = {},
    } = this as Partial<Session> & this
    const onLost = (failure: Failure): void =>
      this.output.showFailure(
        failure,
        'The session continues, but chatctl no longer saves it on this machine.',
      )
    const options = {
      run,
      model,
      isModelExplicit,
      isRecorded,
      client,
      current,
      openPath,
      isShown: true,
      onLost,
    }
    const opened = await openConversation({ ...options, begin, fork, signal })
    this.recorder?.close()
    this.conversation = opened.conversation
    this.recorder = opened.recorder
    this.unsent =
      opened.unsent === undefined ? undefined : { prompt: opened.unsent, replacesLastPrompt: false }
    this.partialReply = opened.partialReply
    this.replacesLastPrompt = false
    return opened
  }

  createWriter(isWhole = false): ReplyWriter {
    const { isPlain, link } = this.options
    if (isPlain) return new PlainWriter()
    const { screen } = this
    return new MarkdownWriter({
      get columns() {
        return screen.columns
      },
      style: this.style,
      isWhole,
      link,
      highlight: this.highlight,
    })
  }

  createReasoningWriter(): ReplyWriter {
    if (!this.showsReasoning) return silentWriter
    return this.options.isPlain ? new PlainReasoningWriter() : new ReasoningWriter(this.screen, this.style)
  }

  /** Runs work that Ctrl-C stops. */
  async stoppable(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { terminal, isPlain, run } = this.options
    const { signal, clock } = run
    signal.throwIfAborted()
    const controller = new AbortController()
    const began = clock.monotonic()
    this.#work = controller
    if (!isPlain) terminal.showProgress(true)
    try {
      await work(controller.signal)
    } catch (error) {
      if (controller.signal.reason !== stopped) throw error
    } finally {
      this.#work = undefined
      this.status.clear()
      if (!isPlain) terminal.showProgress(false)
      if (clock.monotonic() - began > longWork) terminal.notify('Ready for your next message')
    }
  }

  /** @param reason if the user did not stop it */
  stop(reason: unknown = stopped): void {
    this.#work?.abort(reason)
  }

  /** Offers a prompt to be sent again or edited. */
  returnPrompt(prompt: string): void {
    this.unsent = { prompt, replacesLastPrompt: this.replacesLastPrompt }
    const text = this.entryOf(prompt)
    const isOffered = this.keyboard.offer(text)
    if (isOffered) this.attachments.restore(splitFiles(prompt).files, text)
    // Only this prompt, or an edited one, replaces the last one.
    if (!isOffered) this.replacesLastPrompt = false
    this.output.note(
      isOffered ? 'Press Enter to send it again, or type to replace it.' : 'Send it again with: /retry',
    )
  }

  /** The text of a message as it was entered. What another session sent counts as pasted. */
  entryOf(message: string): string {
    return this.entered.message === message ? this.entered.text : markPasted(splitFiles(message).text)
  }

  /** Opens the user's editor for the next prompt. */
  async openExternalEditor(): Promise<void> {
    const { terminal, editorCommand, run, platform } = this.options
    const { directories, env, cwd } = run
    const { input } = this.keyboard
    this.screen.show(undefined)
    try {
      const editing = { fileName: 'message.md', command: editorCommand, env, cwd, platform }
      const { temporary } = directories
      const edited = await terminal.lend(() => editOutside(plainText(input.text), { ...editing, temporary }))
      const text = edited.replaceAll('\r\n', '\n').trimEnd()
      input.setText(markAgain(text, input.text))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.output.showFailure(error)
    }
    this.keyboard.draw()
  }
}

/** The model IDs of the service. */
class Models {
  #known: readonly string[] | undefined
  readonly #firstIsStandard: boolean

  /** @param firstIsStandard whether the first model of the list replies if no model is chosen */
  constructor(firstIsStandard: boolean) {
    this.#firstIsStandard = firstIsStandard
  }

  /** The model that replies if none is chosen; undefined if it is unknown. */
  get standard(): string | undefined {
    return this.#firstIsStandard ? this.#known?.[0] : undefined
  }

  /** @throws Failure of the service */
  async fetch(client: Client, signal: AbortSignal): Promise<readonly string[]> {
    const { body } = await client.chat.models({ signal })
    const models = Array.isArray(body?.data) ? body.data : []
    this.#known = models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
    return this.#known
  }

  /** The IDs that were fetched last. Empty if the request fails. */
  async recall(client: Client, signal: AbortSignal): Promise<readonly string[]> {
    return this.#known ?? this.fetch(client, signal).catch(() => [])
  }
}

type Candidates = readonly string[] | ReadonlyMap<string, string>

/** A command of the session, typed as `/name`. */
export interface SlashCommand {
  name: string
  /** Another name, known from other programs. */
  alias?: string
  /** As the help shows it. Undefined if the command takes no argument. */
  argument?: string
  summary: string
  /** @param entered the argument as it was entered. @throws Failure, which the session shows */
  run(session: Session, argument: string, entered: string): void | Promise<void>
  /** Completions of the argument. A map has only those that match, the newest first, and what each is. */
  candidates?(session: Session, typed: string): Candidates | Promise<Candidates>
  /** Whether the argument is a path. */
  takesPath?: boolean
}
