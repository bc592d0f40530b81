import type { SendAnswer } from '../contract/conversation.ts'
import type { AnswerOf, EndpointName } from '../contract/endpoints.ts'
import type { StreamFormat } from '../contract/stream-event.ts'
import type { Answer } from './answer.ts'
import type { Input } from './outgoing-request.ts'
import type { AnswerStream } from './stream/answer-stream.ts'

/** Options of `Chat.collect`. */
export interface CollectOptions {
  /** Called with the id of the conversation as soon as it is known. */
  onContext?: ((id: string) => void) | undefined
}

/**
 * What the resources need of a client: a way to call the endpoints of the contract.
 *
 * @internal
 */
export interface EndpointCaller {
  call<N extends EndpointName>(name: N, input?: Input<N>): Promise<Answer<AnswerOf<N>>>
  collect(input: Input<'sendMessage'>, options: CollectOptions): Promise<Answer<SendAnswer>>
  stream<N extends EndpointName>(name: N, input?: Input<N>, format?: StreamFormat): Promise<AnswerStream>
}
