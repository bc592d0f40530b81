import type { AnswerOf, EndpointName } from '../contract/endpoints.ts'
import type { StreamFormat } from '../contract/stream-event.ts'
import type { Answer } from './answer.ts'
import type { Input } from './outgoing-request.ts'
import type { AnswerStream } from './stream/answer-stream.ts'

/** What the resources need of a client: a way to call the endpoints of the contract. */
export interface Caller {
  call<N extends EndpointName>(name: N, input?: Input<N>): Promise<Answer<AnswerOf<N>>>
  stream<N extends EndpointName>(name: N, input?: Input<N>, format?: StreamFormat): Promise<AnswerStream>
}
