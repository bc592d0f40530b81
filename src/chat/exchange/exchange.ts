import type { Client } from '../../client/client.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import type { Completion } from '../../contract/resources/completion.ts'
import type { SendResponse } from '../../contract/resources/conversation.ts'
import { reasoningIn } from '../../contract/resources/reasoning.ts'
import { isTokenLimit, type StreamEvent, type StreamFormat } from '../../contract/resources/stream-event.ts'
import type { Clock } from '../../system/clock.ts'
import { maxFileBytes } from '../../system/files/read-text-files.ts'
import type { Conversation } from '../conversation.ts'
import type { Recorder } from '../reply/recorder.ts'
import { Turn } from '../reply/turn.ts'

interface ExchangeOptions {
  client: Client
  conversation: Conversation
  recorder: Recorder
  clock: Clock
  signal: AbortSignal
}

/** One message outside of a session, and its reply. The message is recorded before it is sent. */
export class Exchange {
  readonly #options: ExchangeOptions
  #turn: Turn | undefined
  #isLarge = false

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** The context of the service in which a reply has begun. */
  get contextId(): string | undefined {
    return this.#turn?.hasBegun && !this.isCompletion ? this.#options.conversation.contextId : undefined
  }

  /** Whether the reply is a completion, which is not in the history of the service. */
  get isCompletion(): boolean {
    return this.#options.conversation.mode === 'completions'
  }

  /** Whether the reply has reached its maximum number of tokens. */
  get isCutShort(): boolean {
    return isTokenLimit(this.#turn?.outcome.end?.finishReason)
  }

  /** See `Turn`. */
  get emptiness(): Turn['emptiness'] {
    return this.#turn?.emptiness
  }

  /**
   * Ends the record, also of a reply that is still arriving when the process ends. Each attempt to send a large
   * message that the service refuses would leave a copy of it, so that one is deleted.
   */
  close(): void {
    this.#turn?.end(true)
    const { status } = this.#turn?.outcome.failure ?? {}
    if (this.#isLarge && (status === 400 || status === 413)) this.#options.recorder.discard()
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
   * Requests the reply in one piece.
   *
   * @param isStreamed whether the service sends it as a stream, so that it may take long. A completion is
   *   the body that the service sent, so it is never streamed.
   */
  async send(
    message: string,
    { isStreamed }: { isStreamed: boolean },
  ): Promise<ApiResponse<SendResponse | Completion>> {
    const { client, conversation } = this.#options
    const turn = this.#begin(message)
    const onEvent = (event: StreamEvent): void => turn.take(event)
    try {
      if (this.isCompletion) {
        const response = await client.chat.complete(conversation.completionRequest(message))
        for (const event of eventsOfCompletion(response.body)) turn.take(event)
        return response
      }
      const request = conversation.sendRequest(message)
      if (isStreamed) return await client.chat.collect(request, { onEvent })
      const response = await client.chat.send(request)
      for (const event of eventsOfMessage(response.body)) turn.take(event)
      return response
    } catch (error) {
      turn.fail(error)
      throw error
    } finally {
      turn.end()
    }
  }

  #begin(prompt: string): Turn {
    const turn = new Turn({ ...this.#options, prompt })
    this.#isLarge = Buffer.byteLength(prompt) > maxFileBytes
    this.#turn = turn
    return turn
  }
}

/** A reply that arrived in one piece, as the events of a stream. */
function eventsOfMessage(body: SendResponse | undefined): StreamEvent[] {
  const { id, context_id: contextId, response } = body ?? {}
  const named = { ...(id && { id }), ...(contextId && { contextId }) }
  const finishReason = body?.['finish_reason']
  const reason = typeof finishReason === 'string' && { finishReason }
  return [{ type: 'start', ...named }, ...wholeReply(response ?? '', { ...named, ...reason })]
}

/** The same for a completion. */
function eventsOfCompletion({ id, model, usage, choices }: Completion = {}): StreamEvent[] {
  const all = Array.isArray(choices) ? choices : []
  const choice = all.find(({ message }) => typeof message?.content === 'string') ?? all[0]
  const reasoning = reasoningIn(choice?.message)
  const named = { ...(id && { id }) }
  const finishReason = choice?.finish_reason
  return [
    { type: 'start', ...named, ...(model && { model }) },
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning } as const]),
    ...(usage ? [{ type: 'usage', usage } as const] : []),
    ...wholeReply(choice?.message?.content ?? '', { ...named, ...(finishReason && { finishReason }) }),
  ]
}

function wholeReply(
  text: string,
  more: { id?: string; contextId?: string; finishReason?: string },
): StreamEvent[] {
  const end = { type: 'end', complete: true, verified: true, ...more, text } as const
  return text === '' ? [end] : [{ type: 'delta', text }, end]
}
