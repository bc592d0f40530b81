import type { Client } from '../../client/client.ts'
import type { ApiResponse } from '../../client/response.ts'
import type { Completion } from '../../contract/completion.ts'
import type { SendResponse } from '../../contract/conversation.ts'
import { Failure } from '../../contract/failure.ts'
import { isTokenLimit, type StreamEvent, type StreamFormat } from '../../contract/stream-event.ts'
import type { Clock } from '../../system/clock.ts'
import type { Conversation } from '../conversation.ts'
import { completionEvents } from '../reply/completion-events.ts'
import type { Recorder } from '../reply/recorder.ts'
import type { TurnOutcome } from '../reply/turn-outcome.ts'

interface ExchangeOptions {
  client: Client
  conversation: Conversation
  recorder: Recorder
  clock: Clock
  signal: AbortSignal
}

/** One message outside of a session, and its reply. The message is recorded before it is sent. */
export class Exchange {
  /** The context of the service in which a reply has begun. */
  contextId: string | undefined
  /** Whether the reply has reached its maximum number of tokens. */
  isCutShort = false
  /** What a complete reply without text consists of. Undefined for any other reply. */
  emptiness: 'reasoning' | 'nothing' | undefined
  readonly #options: ExchangeOptions
  #endTurn: ((isStopped: boolean) => void) | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** Whether the reply is a completion: not streamed, and not in the history of the service. */
  get isCompletion(): boolean {
    return this.#options.conversation.mode === 'completions'
  }

  /** Ends the record, also of a reply that is still arriving when the process ends. */
  close(): void {
    this.#endTurn?.(true)
    this.#options.recorder.close()
  }

  /** Requests the reply as events. Each is recorded before it is returned. */
  async *stream(message: string, format: StreamFormat | undefined): AsyncGenerator<StreamEvent, void> {
    const { client, conversation } = this.#options
    const record = this.#begin(message)
    try {
      const events = this.isCompletion
        ? completionEvents((await client.chat.complete(conversation.completionRequest(message))).body)
        : await client.chat.stream(conversation.sendRequest(message), { format })
      for await (const event of events) {
        record.take(event)
        record.flush()
        yield event
      }
    } catch (error) {
      record.fail(error)
      throw error
    } finally {
      record.end()
    }
  }

  /**
   * Requests the reply in one piece.
   *
   * @param isStreamed whether the service sends it as a stream, so that it may take long
   */
  async send(message: string, { isStreamed }: { isStreamed: boolean }): Promise<ApiResponse<SendResponse>> {
    const { client, conversation } = this.#options
    const request = conversation.sendRequest(message)
    return this.#whole(message, async (take) => {
      if (isStreamed) return client.chat.collect(request, { onEvent: take })
      const response = await client.chat.send(request)
      for (const event of eventsOf(response.body)) take(event)
      return response
    })
  }

  /** Requests a completion of the conversation and the message. */
  async complete(message: string): Promise<ApiResponse<Completion>> {
    const { client, conversation } = this.#options
    return this.#whole(message, async (take) => {
      const response = await client.chat.complete(conversation.completionRequest(message))
      for (const event of completionEvents(response.body)) take(event)
      return response
    })
  }

  async #whole<T>(message: string, request: (take: (event: StreamEvent) => void) => Promise<T>): Promise<T> {
    const record = this.#begin(message)
    try {
      return await request(record.take)
    } catch (error) {
      record.fail(error)
      throw error
    } finally {
      record.end()
    }
  }

  #begin(message: string) {
    const { recorder, conversation, clock, signal } = this.#options
    const turn = recorder.beginTurn(message)
    const began = clock.monotonic()
    const elapsed = (): number => Math.round(clock.monotonic() - began)
    const outcome: TurnOutcome = {
      end: undefined,
      failure: undefined,
      usage: undefined,
      thoughtMs: undefined,
      newContextId: undefined,
      firstMs: undefined,
      totalMs: 0,
    }
    let text = ''
    let reasoning = ''
    let thinkingSince: number | undefined
    const flush = (): void => {
      if (reasoning !== '') recorder.reasoning(reasoning)
      if (text !== '') recorder.delta(text)
      text = ''
      reasoning = ''
    }
    this.#endTurn = (isStopped) => {
      this.#endTurn = undefined
      flush()
      outcome.totalMs = elapsed()
      if (thinkingSince !== undefined) {
        outcome.thoughtMs = Math.max(0, (outcome.firstMs ?? outcome.totalMs) - thinkingSince)
      }
      turn.end(outcome, isStopped)
    }
    return {
      take: (event: StreamEvent): void => {
        const named = 'contextId' in event ? event.contextId : undefined
        this.contextId = named ?? this.contextId ?? (this.isCompletion ? undefined : conversation.contextId)
        if (event.type === 'reasoning') {
          thinkingSince ??= elapsed()
          if (text !== '') flush()
          reasoning += event.text
        } else if (event.type === 'delta') {
          outcome.firstMs ??= elapsed()
          text += event.text
        } else if (event.type === 'start') turn.start(event)
        else if (event.type === 'usage') {
          flush()
          turn.usage(event.usage)
        } else if (event.type === 'end') {
          outcome.end = event
          this.isCutShort = isTokenLimit(event.finishReason)
          if (event.complete && event.text === '')
            this.emptiness = thinkingSince === undefined ? 'nothing' : 'reasoning'
        }
      },
      /** Records the text that has arrived since. */
      flush,
      fail: (error: unknown): void => {
        const isInterrupted = signal.aborted || outcome.end?.complete === false
        if (!isInterrupted && error instanceof Failure) outcome.failure = error
      },
      end: (): void => this.#endTurn?.(signal.aborted),
    }
  }
}

/** A reply that arrived in one piece, as the events of a stream. */
function* eventsOf(body: SendResponse | undefined): Generator<StreamEvent, void> {
  const id = body?.id ?? undefined
  const contextId = body?.context_id ?? undefined
  const text = body?.response ?? ''
  const finishReason = body?.['finish_reason']
  const named = { ...(id !== undefined && { id }), ...(contextId !== undefined && { contextId }) }
  yield { type: 'start', ...named }
  if (text !== '') yield { type: 'delta', text }
  const reason = typeof finishReason === 'string' && { finishReason }
  yield { type: 'end', complete: true, verified: true, ...named, ...reason, text }
}
