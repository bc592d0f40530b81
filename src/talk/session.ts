import type { Client } from '../client/client.ts'
import { Failure } from '../contract/failure.ts'
import { editOutside } from '../system/external-editor.ts'
import type { Highlight } from '../terminal/markdown/highlight.ts'
import { MarkdownWriter } from '../terminal/markdown/markdown-writer.ts'
import { type AnswerWriter, PlainWriter } from '../terminal/markdown/plain-writer.ts'
import { plainStyle } from '../terminal/markdown/text-style.ts'
import { Screen } from '../terminal/screen/screen.ts'
import { Status } from '../terminal/screen/status.ts'
import type { UnsentPrompt } from './answer/answer-prompt.ts'
import { Recorder } from './answer/recorder.ts'
import type { CutAnswer } from './answer/recover-answer.ts'
import { stopped } from './answer/take-turn.ts'
import { Conversation } from './conversation.ts'
import { Keyboard, type KeyboardHost } from './keyboard.ts'
import type { Begun } from './resume/resume-transcript.ts'
import type { SessionOptions, SessionStyle } from './session-options.ts'
import { SessionOutput } from './session-output.ts'

/** A session at a terminal as it stands: where it is, and what it is made of. */
export class Session implements KeyboardHost {
  readonly options: SessionOptions
  readonly style: SessionStyle
  readonly screen: Screen
  readonly output: SessionOutput
  readonly status: Status
  readonly keyboard: Keyboard
  readonly complete: KeyboardHost['complete']
  readonly models = new Models()
  conversation = new Conversation()
  /** Both are there as soon as the session has begun. */
  recorder!: Recorder
  client!: Client
  unsent: UnsentPrompt | undefined
  /** The last answer, where it did not come whole. */
  cutAnswer: CutAnswer | undefined
  /** Whether what is sent next takes the place of the last question. */
  replacesLastPrompt = false
  /** Until it is there, code is shown without colors. */
  highlight: Highlight | undefined
  #work: AbortController | undefined

  /** @param complete what Tab puts in, by the line as far as the cursor */
  constructor(options: SessionOptions, complete: KeyboardHost['complete']) {
    this.options = options
    this.style = options.style ?? { ...plainStyle, reverse: (text) => text }
    this.screen = new Screen(options.terminal)
    const { screen, style } = this
    this.output = new SessionOutput({
      screen,
      style,
      isQuiet: options.isQuiet,
      describeFailure: options.describeFailure,
      createWriter: () => this.createWriter(),
    })
    this.status = new Status(() => this.keyboard.draw(), options.clock)
    this.complete = complete
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

  /** Goes on with another conversation; nothing of the last one remains. */
  begin({ conversation, writer, turns, unsent, cutAnswer }: Begun): void {
    this.recorder?.close()
    this.conversation = conversation
    this.recorder = new Recorder(writer, turns, this.options.clock, (failure) =>
      this.output.sayFailure(
        failure,
        'The session continues, but chatctl no longer saves it on this machine.',
      ),
    )
    this.unsent = unsent === undefined ? undefined : { prompt: unsent, replacesLastPrompt: false }
    this.cutAnswer = cutAnswer
    this.replacesLastPrompt = false
  }

  /** For the next answer; one is for one. */
  createWriter(): AnswerWriter {
    const { isPlain, link } = this.options
    if (isPlain) return new PlainWriter()
    const { screen } = this
    return new MarkdownWriter({
      get columns() {
        return screen.columns
      },
      style: this.style,
      ...(link && { link }),
      ...(this.highlight && { highlight: this.highlight }),
    })
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

  /** @param reason other than a person's */
  stop(reason: unknown = stopped): void {
    this.#work?.abort(reason)
  }

  /** Gives a prompt back to be sent again or changed. */
  giveBack(prompt: string): void {
    this.unsent = { prompt, replacesLastPrompt: this.replacesLastPrompt }
    const isOffered = this.keyboard.offer(asTyped(prompt))
    // Only the same text, or an edited one, takes that place.
    if (!isOffered) this.replacesLastPrompt = false
    this.output.note(
      isOffered ? 'Press Enter to send it again, or type to replace it.' : 'Send it again with: /retry',
    )
  }

  /** The person's own editor for the next prompt. */
  async editOutside(): Promise<void> {
    const { terminal, editorCommand, directories, env, cwd } = this.options
    const { input } = this.keyboard
    this.screen.show(undefined)
    try {
      const editing = {
        fileName: 'message.md',
        command: editorCommand,
        env,
        cwd,
        temporary: directories.temporary,
      }
      const edited = await terminal.lend(() => editOutside(input.text, editing))
      const text = edited.replaceAll('\r\n', '\n').trimEnd()
      if (!input.setText(text)) this.keyboard.submit(text)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.output.sayFailure(error)
    }
    this.keyboard.draw()
  }
}

/** The models that the service offers. */
class Models {
  #known: readonly string[] | undefined

  /** @throws Failure of the service */
  async fetch(client: Client, signal: AbortSignal): Promise<readonly string[]> {
    const { body } = await client.chat.models({ signal })
    const models = Array.isArray(body?.data) ? body.data : []
    this.#known = models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
    return this.#known
  }

  /** Those that were fetched last; none where the service cannot be asked. */
  async recall(client: Client, signal: AbortSignal): Promise<readonly string[]> {
    return this.#known ?? this.fetch(client, signal).catch(() => [])
  }
}

/** A message as it is entered: one slash at its beginning would make it a command. */
export function asTyped(message: string): string {
  return message.startsWith('/') ? `/${message}` : message
}
