import type { SendResponse } from '../contract/conversation.ts'
import type { EndpointName, ResponseOf } from '../contract/endpoints.ts'
import type { StreamFormat } from '../contract/stream-event.ts'
import type { Input } from './outgoing-request.ts'
import type { ApiResponse } from './response.ts'
import type { ReplyStream } from './stream/reply-stream.ts'

/** Options of `Chat.collect`. */
export interface CollectOptions {
  /** Called with the ID of the conversation as soon as it is known. */
  onContext?: ((id: string) => void) | undefined
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
