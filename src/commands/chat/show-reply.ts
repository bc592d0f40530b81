import * as Flags from '@oclif/core/flags'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { codeFlag } from '../../cli/flags/flag-types.ts'
import { linkerFor, loadSessionStyle, wantsColor } from '../../cli/output/colors.ts'
import type { Output } from '../../cli/output/output.ts'
import { WaitingLine } from '../../cli/output/progress.ts'
import { warnOfResponse } from '../../cli/output/warn-of-response.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import { Failure } from '../../contract/failure.ts'
import type { StreamEnd, StreamEvent } from '../../contract/resources/stream-event.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import type { CodeSelection } from '../../terminal/markdown/code-selection.ts'
import { PlainWriter, type ReplyWriter } from '../../terminal/markdown/plain-writer.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { describeStreamEvent } from '../../view/chat.ts'
import type { View } from '../../view/format/view.ts'

/** Flags that say how a reply is printed. They apply to text, and not to data. */
export const replyFlags = {
  extract: codeFlag({
    char: 'x',
    summary: 'Print only the Nth code block (default: 1)',
    exclusive: ['json', 'output', 'fields', 'jq'],
  }),
  raw: Flags.boolean({
    summary: 'Do not render Markdown (default in a pipe)',
    exclusive: ['json', 'output', 'fields', 'jq', 'extract'],
  }),
}

/** The values of `replyFlags`. */
interface ReplyFlags {
  raw: boolean
  extract: CodeSelection | undefined
  /** The command that shows the whole reply (default: an export of the conversation). */
  wholeReply?: readonly string[]
  /** Why the reply may lack what is extracted. */
  findFault?(): Failure | undefined
}

/** Prints a reply. Until then, a terminal shows what the command waits for. */
export class ReplyPrinter {
  readonly #context: Context
  readonly #view: View
  readonly #flags: ReplyFlags
  readonly #waiting: WaitingLine
  #writer: Promise<ReplyWriter> | undefined

  /** @param view how the body of a reply becomes text */
  constructor(context: Context, view: View, flags: ReplyFlags) {
    this.#context = context
    this.#view = view
    this.#flags = flags
    this.#waiting = new WaitingLine(context.output)
  }

  /** Call it immediately before the request. The renderer is loaded while the request is under way. */
  begin(): void {
    this.#waiting.show('Waiting for the reply…')
    if (this.#isRendered) setImmediate(() => void this.#loadWriter())
  }

  /**
   * Prints a reply while it arrives.
   * @param options.asText whether the reply is printed as text, rather than one JSON event per line
   * @returns how the stream ended; the part of a truncated reply that arrived has been printed
   */
  async showEvents(events: AsyncIterable<StreamEvent>, { asText }: { asText: boolean }): Promise<StreamEnd> {
    const { streams } = this.#context
    const { extract } = this.#flags
    const { signal } = streams
    let writer: ReplyWriter | undefined
    let end: StreamEnd | undefined
    let hasText = false
    let isThinking = false
    try {
      for await (const event of events) {
        if (event.type === 'end') end = event
        // The reader may have stopped.
        if (!asText) await unlessAborted(this.#showEvent(event), signal)
        else if (event.type === 'reasoning' && !isThinking && !hasText) {
          isThinking = true
          this.#waiting.show('Thinking…')
        } else if (event.type === 'delta') {
          if (extract !== undefined && !hasText) this.#waiting.show('Receiving the reply…')
          hasText ||= event.text !== ''
          if (extract === undefined) {
            writer ??= await this.#loadWriter()
            await this.#print(event.text, writer)
          }
        }
      }
    } finally {
      await this.#finish(writer)
    }
    if (!end) throw new Error('the stream had no end event')
    if (asText && extract !== undefined) {
      if (end.failure) this.sayReply(end.text)
      else await this.#showCode(end.text, extract, end.contextId)
    } else if (asText && end.complete && !hasText && !streams.isShown) await this.#write('\n')
    return end
  }

  /** Prints a reply that arrived in one piece. */
  async show(response: ApiResponse<unknown>): Promise<void> {
    const { extract } = this.#flags
    this.end()
    if (extract === undefined && !this.#isRendered) return this.#context.show(this.#view, response)
    await warnOfResponse(response, this.#context.output)
    const text = String(this.#view.text?.(response.body) ?? '')
    if (extract !== undefined) return this.#showCode(text, extract, contextOf(response.body))
    const writer = await loadReplyWriter(this.#context.output, this.#flags.raw, true)
    try {
      await this.#print(text, writer)
    } finally {
      await this.#finish(writer)
    }
  }

  /** Stops showing what the command waits for. */
  end(): void {
    this.#waiting.end()
  }

  get #isRendered(): boolean {
    const { output, streams } = this.#context
    return streams.isShown && output.showsText(this.#view) && this.#flags.extract === undefined
  }

  #loadWriter(): Promise<ReplyWriter> {
    this.#writer ??= loadReplyWriter(this.#context.output, this.#flags.raw)
    return this.#writer
  }

  #showEvent(event: StreamEvent): Promise<void> {
    this.end()
    return this.#context.output.showEvent(describeStreamEvent(event))
  }

  async #print(text: string, writer: ReplyWriter): Promise<void> {
    await unlessAborted(this.#write(writer.push(text)), this.#context.streams.signal)
  }

  /** The shell prompt starts on a new line, also after an interrupted reply. */
  async #finish(writer: ReplyWriter | undefined): Promise<void> {
    const { signal, host } = this.#context.streams
    const isStuck = signal.aborted && host.stdout.writableLength > 0
    const rest = writer?.end() ?? ''
    if (!isStuck) await this.#write(rest)
  }

  async #write(text: string): Promise<void> {
    if (text === '') return
    this.end()
    await this.#context.streams.writeData(text)
  }

  /** @throws Failure `invalid_response` if the reply has no such block; it says where the whole reply is */
  async #showCode(reply: string, selection: CodeSelection, contextId: string | undefined): Promise<void> {
    const { streams } = this.#context
    const { selectCode } = await import('../../terminal/markdown/code-blocks.ts')
    try {
      const code = selectCode(reply, selection)
      await this.#write(streams.isShown ? stripControls(code) : code)
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'no_code_block')) throw error
      const stored = contextId && ['history', 'export', '--context', contextId, '-o', 'markdown']
      const words = this.#flags.wholeReply ?? stored
      const hint = words && `Show the whole reply with: ${commandFor(this.#context, ...words)}`
      // The service does not keep this reply.
      if (!hint) this.sayReply(reply)
      throw this.#flags.findFault?.() ?? error.reworded(error.message, { hint })
    }
  }

  /** Writes a reply that is not printed to stderr, so that it is not lost. */
  sayReply(text: string): void {
    this.end()
    if (text === '') return
    const { output, streams } = this.#context
    if (output.isJson) streams.say(JSON.stringify({ notice: { response: text } }))
    else streams.say(text)
  }
}

function contextOf(body: unknown): string | undefined {
  const { context_id: id } = (body ?? {}) as { context_id?: unknown }
  return typeof id === 'string' ? id : undefined
}

/**
 * What turns a reply into the text that stdout gets: rendered Markdown in a terminal, and unchanged text in a
 * pipe.
 * @param isRaw whether a terminal gets plain text too
 * @param isWhole whether the whole reply is known
 */
async function loadReplyWriter(output: Output, isRaw: boolean, isWhole = false): Promise<ReplyWriter> {
  const { isShown, host } = output.streams
  const { stdout, env } = host
  if (!isShown) return new UnchangedWriter()
  if (isRaw || env['TERM'] === 'dumb') return new PlainWriter()
  const hasColor = wantsColor(stdout, env, output.isColorless)
  const [{ MarkdownWriter }, style, link, highlight] = await Promise.all([
    import('../../terminal/markdown/markdown-writer.ts'),
    loadSessionStyle(hasColor),
    linkerFor(stdout),
    hasColor
      ? import('../../terminal/markdown/code-block.ts').then(({ loadHighlight }) => loadHighlight())
      : undefined,
  ])
  return new MarkdownWriter({
    // The last column stays empty, because terminals wrap there in different ways.
    get columns() {
      return (stdout.columns || 80) - 1
    },
    style,
    isWhole,
    link,
    highlight,
  })
}

/** The text as it arrives. It ends with a newline. */
class UnchangedWriter implements ReplyWriter {
  #last = ''

  push(text: string): string {
    this.#last = text.at(-1) ?? this.#last
    return text
  }

  end(): string {
    return this.#last === '' || this.#last === '\n' ? '' : '\n'
  }
}
