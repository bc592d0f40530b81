import type { Client } from '../client/client.ts'
import type { ApiResponse } from '../client/response/response.ts'
import type { ContextOwner } from '../config/last-context.ts'
import { Failure } from '../contract/failure.ts'
import { readWholeReply } from '../contract/reply/assembly.ts'
import type { Completion } from '../contract/resources/completion.ts'
import type { SendResponse } from '../contract/resources/conversation.ts'
import type { StreamEvent, StreamFormat } from '../contract/resources/stream-event.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { Conversation, fetchMessages, noMessages, type Parameters } from './conversation.ts'
import { Recorder } from './reply/recorder.ts'
import { Turn, type TurnOptions } from './reply/turn.ts'
import type { ConversationStart } from './session-options.ts'
import { TranscriptWriter } from './transcript/transcript-writer.ts'

interface OpenOptions {
  client: Client
  begin: ConversationStart
  owner: ContextOwner
  model: string | undefined
  /** Whether the command line names the model. */
  isModelExplicit: boolean
  /** Those that are given replace those of an earlier conversation. */
  parameters: Parameters
  responseFormat?: Conversation['responseFormat']
  /** Directory of the transcripts. Undefined if nothing is recorded. */
  sessionsDirectory: (() => string) | undefined
  /** Called at most once. The exchange continues without being recorded. */
  onLost(failure: Failure): void
  clock: Clock
  signal: AbortSignal
}

/**
 * Opens a conversation for one message. Requests nothing, except the messages of a conversation that continues
 * with parameters.
 * @throws Failure if the conversation cannot be read; never because the exchange cannot be recorded
 */
export async function openExchange(options: OpenOptions): Promise<Exchange> {
  const { client, clock, signal, onLost } = options
  const conversation = await openConversation(options)
  conversation.responseFormat = options.responseFormat
  const opened = await openWriter(options, conversation)
  const recorder = new Recorder(opened?.writer, opened?.turns ?? 0, clock, onLost)
  return new Exchange({ client, conversation, recorder, clock, signal })
}

async function openConversation(options: OpenOptions): Promise<Conversation> {
  const { begin, model, isModelExplicit, parameters } = options
  if (begin.kind === 'transcript') {
    const { readTranscript } = await import('./transcript/read-transcript.ts')
    const transcript = readTranscript(begin.path)
    const conversation = Conversation.ofTranscript(transcript)
    if (isModelExplicit || conversation.model === undefined) conversation.model = model
    Object.assign(conversation.parameters, parameters)
    return conversation
  }
  const conversation = new Conversation()
  conversation.model = model
  conversation.parameters = parameters
  if (begin.kind === 'context') conversation.contextId = begin.id
  if (conversation.hasParameters) conversation.mode = 'completions'
  if (begin.kind === 'new' || conversation.mode === 'context') return conversation
  conversation.messages = await fetchMessages(options.client, begin.id, options.signal)
  if (conversation.messages.length === 0) throw noMessages(begin.id)
  return conversation
}

/** Continues the transcript, or begins a new one if there is none or another process has it open. */
async function openWriter(
  { begin, sessionsDirectory, owner, clock, onLost }: OpenOptions,
  conversation: Conversation,
): Promise<{ writer: TranscriptWriter; turns: number } | undefined> {
  if (sessionsDirectory === undefined) return undefined
  const lists = begin.kind === 'new' ? undefined : await import('./transcript/list-transcripts.ts')
  return unlessLost(onLost, () => {
    const { messages, contextId = '', mode } = conversation
    // A completion is not a part of the conversation on the service.
    const isKnown = begin.kind === 'transcript' || (begin.kind === 'context' && mode === 'context')
    const known = begin.path ?? lists?.findTranscriptOfContext(sessionsDirectory(), owner, contextId)?.path
    const existing = isKnown && known ? (begin.writer ?? TranscriptWriter.reopenUnlessOpen(known)) : undefined
    // Counted under its lock, because another process may have added some.
    const turns = existing ? (lists?.summarize(existing.path)?.turns ?? 0) : 0
    const writer = existing ?? TranscriptWriter.create(sessionsDirectory(), owner, clock)
    const at = isoNow(clock)
    writer.append(conversation.optionsLine(at))
    const isNew = existing === undefined
    // The service has the earlier messages.
    if (isNew && mode === 'context') conversation.lacksBeginning = contextId !== ''
    if (isNew && (messages.length > 0 || conversation.lacksBeginning)) {
      writer.append(conversation.conversationLine(at))
    }
    return { writer, turns }
  })
}

function unlessLost<T>(onLost: (failure: Failure) => void, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    onLost(error)
    return undefined
  }
}

type ExchangeOptions = Omit<TurnOptions, 'prompt' | 'onContext'>

/** Messages outside of a session, and their replies. Each message is recorded before it is sent. */
export class Exchange {
  readonly #options: ExchangeOptions
  #turn: Turn | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** The conversation of the service in which a reply has begun. */
  get contextId(): string | undefined {
    return this.#turn?.hasBegun && !this.isCompletion ? this.#options.conversation.contextId : undefined
  }

  /** Whether the reply is a completion, which is not in the history of the service. */
  get isCompletion(): boolean {
    return this.#options.conversation.mode === 'completions'
  }

  /** How the last reply ended. */
  get end() {
    const end = this.#turn?.outcome.end
    if (!end) return undefined
    const { maxTokens } = this.#options.conversation.parameters
    const isKept = this.contextId !== undefined || this.transcript.path !== undefined
    return { end, hasReasoning: this.#turn?.hasReasoning === true, maxTokens, isKept }
  }

  get reply(): string {
    return this.#turn?.text ?? ''
  }

  /** ID and path of the transcript. Undefined if nothing is recorded. */
  get transcript(): Pick<Recorder, 'id' | 'path'> {
    return this.#options.recorder
  }

  /** Ends the record, also of a reply that is still arriving when the process ends. */
  close(): void {
    this.#turn?.end(true)
    this.#options.recorder.close()
  }

  /** Requests the reply as events. Each is recorded before it is returned. */
  async *stream(message: string, format: StreamFormat | undefined): AsyncGenerator<StreamEvent, void> {
    const turn = this.#begin(message)
    try {
      for await (const event of await turn.stream(format)) {
        turn.take(event)
        turn.flush()
        yield event
      }
    } catch (error) {
      turn.fail(error)
      throw error
    } finally {
      turn.end()
    }
  }

  /**
   * Requests the reply as a whole.
   * @param isStreamed whether the service sends it as a stream, so that it may take long. A completion is
   *   the body that the service sent, so it is never streamed.
   */
  async send(
    message: string,
    { isStreamed }: { isStreamed: boolean },
  ): Promise<ApiResponse<SendResponse | Completion>> {
    const { client, conversation } = this.#options
    // As for `--continue`, if the service has not named the conversation.
    if (this.#turn && conversation.contextId === undefined) conversation.mode = 'completions'
    const turn = this.#begin(message)
    const onEvent = (event: StreamEvent): void => turn.take(event)
    try {
      if (this.isCompletion) {
        const response = await client.chat.complete(conversation.completionRequest(message))
        turn.takeWhole(readWholeReply(response.body))
        return response
      }
      const request = conversation.sendRequest(message)
      if (isStreamed) return await client.chat.collect(request, { onEvent })
      const response = await client.chat.send(request)
      turn.takeWhole(readWholeReply(response.body))
      return response
    } catch (error) {
      turn.fail(error)
      throw error
    } finally {
      turn.end()
      conversation.add(message, turn.text)
    }
  }

  #begin(prompt: string): Turn {
    this.#turn = new Turn({ ...this.#options, prompt })
    return this.#turn
  }
}
