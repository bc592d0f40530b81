import type { Completion, CompletionRequest } from '../contract/completion.ts'
import type { SendAnswer, SendRequest } from '../contract/conversation.ts'
import type { ModelList } from '../contract/model.ts'
import type { StreamFormat } from '../contract/stream-event.ts'
import type { Answer } from './answer.ts'
import type { CollectOptions, EndpointCaller } from './endpoint-caller.ts'
import type { AnswerStream } from './stream/answer-stream.ts'

interface Options {
  signal?: AbortSignal
}

interface StreamOptions extends Options {
  /** What the answer is made of; found out unless said. */
  format?: StreamFormat | undefined
}

/** interface.md, "Endpoints": the rows below /v1/chat and /api/chat, the history aside. */
export class Chat {
  readonly #caller: EndpointCaller

  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /** POST /v1/chat/completions. */
  complete(body: CompletionRequest, options: Options = {}): Promise<Answer<Completion>> {
    return this.#caller.call('createCompletion', { ...options, body })
  }

  /** POST /api/chat/send, answered in one piece. */
  send(request: SendRequest, options: Options = {}): Promise<Answer<SendAnswer>> {
    const { stream: _, ...body } = request
    return this.#caller.call('sendMessage', { ...options, body })
  }

  /**
   * POST /api/chat/send with `stream: true`. Resolves when the first byte has come; what fails
   * before that rejects, what fails after it is told by the stream's `end`.
   */
  stream(request: SendRequest, { format, ...options }: StreamOptions = {}): Promise<AnswerStream> {
    return this.#caller.stream('sendMessage', { ...options, body: { ...request, stream: true } }, format)
  }

  /** The same, as the body that `send` resolves with: a reply that takes long is not lost on the way. */
  collect(request: SendRequest, { onContext, ...options }: Options & CollectOptions = {}) {
    return this.#caller.collect({ ...options, body: { ...request, stream: true } }, { onContext })
  }

  /** GET /v1/chat/models. */
  models(options: Options = {}): Promise<Answer<ModelList>> {
    return this.#caller.call('listModels', options)
  }
}
