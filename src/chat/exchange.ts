import type { Client } from '../client/client.ts'
import type { ApiResponse } from '../client/response/response.ts'
import { Failure } from '../contract/failure.ts'
import { readWholeReply } from '../contract/reply/assembly.ts'
import type { Completion } from '../contract/resources/completion.ts'
import type { SendResponse } from '../contract/resources/conversation.ts'
import type { StreamEnd, StreamEvent, StreamFormat } from '../contract/resources/stream-event.ts'
import type { Clock } from '../system/clock.ts'
import { describeStreamEvent } from '../view/chat.ts'
import { describeFailure } from '../view/failure-details.ts'
import type { Conversation } from './conversation.ts'
import type { Recorder } from './reply/recorder.ts'
import type { TranscriptLine } from './transcript/transcript-line.ts'
import { decideDelivery, openTurn, type ReplyLine, type Turn, takeLine } from './transcript/turn.ts'

interface ExchangeOptions {
  client: Client
  conversation: Conversation
  recorder: Recorder
  clock: Clock
  /** Aborted when the reply is no longer wanted. */
  signal: AbortSignal
  /** Called as soon as the service names a new conversation. */
  onContext?(id: string): void
}

/** Messages and their replies. Each message is recorded before it is sent, and each event before it is returned. */
export class Exchange {
  /** The last turn, as the transcript has it. Undefined before the first message. */
  turn: Turn | undefined
  /** How its reply ended. Undefined if it was stopped or never began. */
  end: StreamEnd | undefined
  /** Why no reply arrived. */
  failure: Failure | undefined
  /** The ID of the conversation, if this reply is the first one that names it. */
  newContextId: string | undefined
  /** How long reasoning arrived before the reply, in ms. */
  thoughtMs: number | undefined
  readonly conversation: Conversation
  readonly recorder: Recorder
  readonly #options: ExchangeOptions
  #began = 0
  #thinkingSince: number | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.conversation = options.conversation
    this.recorder = options.recorder
  }

  /** The conversation of the service in which a reply has begun. */
  get contextId(): string | undefined {
    return this.hasBegun && !this.isCompletion ? this.conversation.contextId : undefined
  }

  /** Whether the reply is a completion, which is not in the history of the service. */
  get isCompletion(): boolean {
    return this.conversation.mode === 'completions'
  }

  /** Whether a part of the last reply has arrived, or anything else about it. */
  get hasBegun(): boolean {
    return this.end !== undefined || (this.turn?.events.length ?? 0) > 0
  }

  /** Whether the model has sent reasoning. */
  get hasReasoning(): boolean {
    return this.turn?.reasoning !== undefined
  }

  /** The text of the last reply. */
  get reply(): string {
    return this.turn?.reply ?? ''
  }

  /** Ends the record, also of a reply that is still arriving when the process ends. */
  close(): void {
    this.#endTurn(true)
    this.recorder.close()
  }

  /** Requests the reply as events. */
  async *stream(prompt: string, format: StreamFormat | undefined): AsyncGenerator<StreamEvent, void> {
    const { client, conversation, signal } = this.#options
    const turn = this.#begin(prompt)
    try {
      const options = { format, signal }
      const events = this.isCompletion
        ? await client.chat.streamCompletion(conversation.completionRequest(prompt), options)
        : await client.chat.stream(conversation.sendRequest(prompt), options)
      for await (const event of events) {
        this.#take(turn, event)
        yield event
      }
    } catch (error) {
      this.#fail(error)
      throw error
    } finally {
      this.#endTurn()
    }
  }

  /**
   * Requests the reply as a whole.
   * @param isStreamed whether the service sends it as a stream, so that it may take long. A completion is
   *   the body that the service sent, so it is never streamed.
   */
  async send(
    prompt: string,
    { isStreamed }: { isStreamed: boolean },
  ): Promise<ApiResponse<SendResponse | Completion>> {
    const { client, conversation } = this.#options
    // As for `--continue`, if the service has not named the conversation.
    if (this.turn && conversation.contextId === undefined) conversation.mode = 'completions'
    const turn = this.#begin(prompt)
    const onEvent = (event: StreamEvent): void => this.#take(turn, event)
    try {
      const request = conversation.sendRequest(prompt)
      if (isStreamed && !this.isCompletion) return await client.chat.collect(request, { onEvent })
      const response = this.isCompletion
        ? await client.chat.complete(conversation.completionRequest(prompt))
        : await client.chat.send(request)
      const { reasoning, ...end } = readWholeReply(response.body)
      onEvent({ ...end, type: 'start' })
      if (reasoning !== '') onEvent({ type: 'reasoning', text: reasoning })
      if (end.text !== '') onEvent({ type: 'delta', text: end.text })
      if (end.usage) onEvent({ type: 'usage', usage: end.usage })
      onEvent(end)
      return response
    } catch (error) {
      this.#fail(error)
      throw error
    } finally {
      this.#endTurn()
    }
  }

  /** Records the prompt and flushes it to disk, before it is sent. */
  #begin(prompt: string): Turn {
    const { recorder, conversation, clock } = this.#options
    this.end = this.failure = this.newContextId = this.thoughtMs = this.#thinkingSince = undefined
    const line = { type: 'user', turn: ++recorder.turns, at: recorder.now, text: prompt } as const
    recorder.record(line, true)
    this.#began = clock.monotonic()
    this.turn = openTurn(line, conversation)
    return this.turn
  }

  #take(turn: Turn, event: StreamEvent): void {
    const { conversation, recorder } = this.#options
    if ('contextId' in event) this.#takeContext(event.contextId)
    if (event.type === 'end') {
      this.end = event
      return
    }
    if (event.type === 'start') conversation.replyModel = event.model ?? conversation.replyModel
    if (event.type === 'reasoning') this.#thinkingSince ??= this.#elapsed()
    if (event.type === 'delta') turn.firstMs ??= this.#elapsed()
    const time = event.type === 'start' ? { at: recorder.now } : {}
    this.#record(turn, { ...describeStreamEvent(event), turn: turn.number, ...time })
  }

  /** Keeps why no reply arrived, unless the reply tells it itself, or was stopped. */
  #fail(error: unknown): void {
    const isKnown = this.#options.signal.aborted || this.end?.complete === false
    if (!isKnown && error instanceof Failure) this.failure = error
  }

  /** Ends the record of the turn, if it has not ended. */
  #endTurn(isStopped = this.#options.signal.aborted): void {
    const { turn, end, failure, recorder, conversation } = this
    if (turn?.status !== 'lost') return
    const totalMs = this.#elapsed()
    if (this.#thinkingSince !== undefined)
      this.thoughtMs = Math.max(0, (turn.firstMs ?? totalMs) - this.#thinkingSince)
    const ended = end ?? {
      ...{ type: 'end', complete: false, verified: false, text: '' },
      end: isStopped ? 'interrupted' : failure && 'failed',
    }
    const isRefused = failure?.isOutcomeUnknown === false
    const delivery = decideDelivery({ ...turn, end: ended.end, hasBegun: this.hasBegun, isRefused })
    const { response: _, ...event } = describeStreamEvent(ended)
    this.#record(
      turn,
      {
        ...event,
        ...{ turn: turn.number, at: recorder.now },
        reason: end?.failure ? describeFailure(end.failure) : end?.reason,
        interrupted: isStopped && !end ? true : undefined,
        error: failure && { code: failure.code, message: describeFailure(failure) },
        ...{ first_ms: turn.firstMs, total_ms: totalMs, delivery },
      },
      true,
    )
    if (end?.complete || turn.reply !== '') conversation.add(turn)
  }

  /** @param event a public event, with the additional fields of its line */
  #record(turn: Turn, { v: _, ...event }: Record<string, unknown>, isFlushed = false): void {
    const line = event as ReplyLine
    this.recorder.record(line satisfies TranscriptLine, isFlushed)
    takeLine(turn, line)
  }

  #takeContext(id: string | undefined): void {
    const { conversation, onContext } = this.#options
    if (id === undefined || id === conversation.contextId || this.isCompletion) return
    conversation.contextId = id
    this.newContextId = id
    onContext?.(id)
  }

  #elapsed(): number {
    return Math.round(this.#options.clock.monotonic() - this.#began)
  }
}
