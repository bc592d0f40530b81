import { type FailedRequest, Failure } from '../../contract/failure.ts'
import { mayChange } from '../network/network-failure.ts'

/** Maximum size of a body by default. */
export const defaultMaxMiB = 256

/** The body of a 2xx response while it arrives, up to a maximum size. */
export class ResponseBytes {
  readonly #status: number
  readonly #request: FailedRequest
  readonly #maxMiB: number
  readonly #chunks: Uint8Array[] = []
  #length = 0

  /** @param maxMiB maximum size of the body */
  constructor(status: number, request: FailedRequest, maxMiB = defaultMaxMiB) {
    this.#status = status
    this.#request = request
    this.#maxMiB = maxMiB
  }

  /** @throws Failure `invalid_response` for a body that is too long; the request has taken effect */
  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length <= this.#maxMiB * 1024 * 1024) return
    const { origin } = new URL(this.#request.url)
    throw new Failure('invalid_response', `The response from ${origin} is longer than ${this.#maxMiB} MiB`, {
      status: this.#status,
      isOutcomeUnknown: mayChange(this.#request),
    })
  }

  /** The bytes so far. */
  join(): Uint8Array {
    const [first, ...rest] = this.#chunks
    return first && rest.length === 0 ? first : Buffer.concat(this.#chunks)
  }
}
