import { type FailedRequest, Failure } from '../failure.ts'
import { mayChange } from './network-failure.ts'

/** A response that goes on beyond this is an attack, or an accident. */
const mostBytes = 256 * 1024 * 1024

/** The body of a 2xx response while it comes, up to 256 MiB. */
export class AnswerBytes {
  readonly #status: number
  readonly #request: FailedRequest
  readonly #chunks: Uint8Array[] = []
  #length = 0

  constructor(status: number, request: FailedRequest) {
    this.#status = status
    this.#request = request
  }

  /** @throws Failure `unusable_answer` for a body that is too long; what it answers has been done */
  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length <= mostBytes) return
    throw new Failure('unusable_answer', "the service's answer is longer than 256 MiB", {
      status: this.#status,
      inDoubt: mayChange(this.#request),
    })
  }

  /** All that has come. */
  join(): Uint8Array {
    const [first, ...rest] = this.#chunks
    return first && rest.length === 0 ? first : Buffer.concat(this.#chunks)
  }
}
