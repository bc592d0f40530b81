import type { EndpointName, ResponseOf } from '../contract/endpoints.ts'
import type { SendResponse } from '../contract/resources/conversation.ts'
import type { StreamEvent, StreamFormat } from '../contract/resources/stream-event.ts'
import type { Input } from './outgoing-request.ts'
import type { ApiResponse } from './response/response.ts'
import type { ReplyStream } from './stream/reply-stream.ts'

/** Options of `Chat.collect`. */
export interface CollectOptions {
  /** Called with each event of the reply as it arrives. */
  onEvent?: ((event: StreamEvent) => void) | undefined
}

/**
 * Calls the endpoints of the contract. Implemented by the client, used by its resources.
 *
 * @internal
 */
export interface EndpointCaller {
  call<N extends EndpointName>(name: N, input?: Input<N>): Promise<ApiResponse<ResponseOf<N>>>
  collect(input: Input<'sendMessage'>, options: CollectOptions): Promise<ApiResponse<SendResponse>>
  stream<N extends EndpointName>(name: N, input?: Input<N>, format?: StreamFormat): Promise<ReplyStream>
}
