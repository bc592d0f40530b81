import type { Completion, CompletionRequest, ModelList } from '../contract/resources/completion.ts'
import type { SendRequest, SendResponse } from '../contract/resources/conversation.ts'
import type { StreamFormat } from '../contract/resources/stream-event.ts'
import type { CollectOptions, EndpointCaller } from './outgoing-request.ts'
import type { ApiResponse } from './response/response.ts'
import type { ReplyStream } from './stream/reply-stream.ts'

interface Options {
  /** Aborts this request. */
  signal?: AbortSignal
}

interface StreamOptions extends Options {
  /** The format of the stream, which the interface does not show (default: detected). */
  format?: StreamFormat | undefined
}

/** Replies and models (docs/interface.md, "Endpoints": the rows below /v1/chat and /api/chat). */
export class Chat {
  readonly #caller: EndpointCaller

  /** @internal */
  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /**
   * Completes a list of messages, of which the service keeps nothing: POST /v1/chat/completions
   * (docs/interface.md, "Chat completion request").
   * @throws Failure `invalid_response` if the response contains no reply; an empty one is a reply
   */
  complete(body: CompletionRequest, options: Options = {}): Promise<ApiResponse<Completion>> {
    return this.#caller.call('createCompletion', { ...options, body })
  }

  /**
   * Completes a list of messages, and streams the reply if the service can: the header `Accept` asks for
   * it, because the request has no field for that. The event `end` tells by `isWholeBody` that it cannot.
   */
  streamCompletion(
    body: CompletionRequest,
    { format, ...options }: StreamOptions = {},
  ): Promise<ReplyStream> {
    return this.#caller.stream('createCompletion', { ...options, body }, format)
  }

  /**
   * Sends a message and requests the reply in one piece: POST /api/chat/send (docs/interface.md,
   * "Send-message request and response"). Prefer `collect`, which survives replies that take long.
   */
  send(request: SendRequest, options: Options = {}): Promise<ApiResponse<SendResponse>> {
    const { stream: _, ...body } = request
    return this.#caller.call('sendMessage', { ...options, body })
  }

  /**
   * Sends a message and streams the reply: POST /api/chat/send with `stream: true`. Resolves when the
   * first byte has arrived. A failure before that rejects; a later one is in the event `end`.
   */
  stream(request: SendRequest, { format, ...options }: StreamOptions = {}): Promise<ReplyStream> {
    return this.#caller.stream('sendMessage', { ...options, body: { ...request, stream: true } }, format)
  }

  /**
   * Sends a message, reads the streamed reply to its end, and resolves with the body that `send` would
   * resolve with.
   * @throws Failure `truncated` or `server_error` if the reply is not complete
   */
  collect(request: SendRequest, { onEvent, ...options }: Options & CollectOptions = {}) {
    return this.#caller.collect({ ...options, body: { ...request, stream: true } }, { onEvent })
  }

  /** Lists the models: GET /v1/chat/models (docs/interface.md, "Model"). */
  models(options: Options = {}): Promise<ApiResponse<ModelList>> {
    return this.#caller.call('listModels', options)
  }
}
