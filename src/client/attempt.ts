import { type FailedRequest, Failure } from '../contract/failure.ts'
import { startTimer } from '../system/clock.ts'
import { readStart } from '../system/network/fetch-text.ts'
import { Expired, type HttpRequest, type OpenResponse, type Transport } from '../system/network/transport.ts'

/** Maximum number of bytes that are read of an error response that is not shown. */
const maxErrorBytes = 64 * 1024

export interface AttemptResponse {
  status: number
  statusText: string
  headers: Record<string, string>
  /** The whole body, or the first bytes of a stream. */
  bytes: Uint8Array
  /** Whether the bytes are only the first part of the body of an error response. */
  cut: boolean
  /** The rest of a stream. */
  rest?: OpenResponse
}

interface AttemptOptions {
  /** Milliseconds until the last byte, or until the first of a stream. */
  timeout: number
  /** Whether the caller reads the body of a 2xx response. */
  stream: boolean
  /** Whether the body of an error response is read up to `maxBodyMiB`, and not only the part with its message. */
  wholeErrors: boolean
  /** Maximum size of the body, in MiB (default: 256). A stream has none. */
  maxBodyMiB?: number | undefined
  signal: AbortSignal | undefined
}

/**
 * Sends a request once.
 * @param onSent called when the connection is open and the request leaves
 * @throws Interrupted if the network or the timeout ends it; the reason of the signal
 */
export async function attempt(
  transport: Transport,
  httpRequest: HttpRequest,
  options: AttemptOptions,
  onSent: () => void,
): Promise<AttemptResponse> {
  const deadline = new AbortController()
  const stopTimer = startTimer(options.timeout, () => deadline.abort(new Expired(options.timeout)))
  const given = options.signal
  // A stream needs the signal after this function returns. For all other requests, perhaps a million,
  // `any` would leak memory: its signals stay referenced by a signal that lives as long as the process.
  const signal = given && options.stream ? AbortSignal.any([given, deadline.signal]) : deadline.signal
  const pass = (): void => deadline.abort(given?.reason)
  if (!options.stream) {
    if (given?.aborted) pass()
    given?.addEventListener('abort', pass, { once: true })
  }
  try {
    const response = await transport(httpRequest, signal, onSent)
    const { status, statusText, headers } = response
    const head = { status, statusText, headers }
    if (status < 200 || status > 299) {
      const max = options.wholeErrors ? (options.maxBodyMiB ?? defaultMaxMiB) * 1024 * 1024 : maxErrorBytes
      const { bytes, cut } = await readStart(response, max)
      return { ...head, bytes, cut }
    }
    if (!options.stream) return { ...head, bytes: await readAll(response, httpRequest, options), cut: false }
    const first = await response.read()
    return { ...head, bytes: first ?? new Uint8Array(), cut: false, rest: response }
  } finally {
    stopTimer()
    given?.removeEventListener('abort', pass)
  }
}

async function readAll(
  response: OpenResponse,
  { method, url }: HttpRequest,
  { maxBodyMiB }: AttemptOptions,
): Promise<Uint8Array> {
  const kept = new ResponseBytes(response.status, { method, url: url.href }, maxBodyMiB)
  try {
    for (let chunk = await response.read(); chunk; chunk = await response.read()) kept.add(chunk)
  } finally {
    response.cancel()
  }
  return kept.join()
}

/** Maximum size of a body by default. */
const defaultMaxMiB = 256

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
      isOutcomeUnknown: true,
    })
  }

  /** The bytes so far. */
  join(): Uint8Array {
    const [first, ...rest] = this.#chunks
    return first && rest.length === 0 ? first : Buffer.concat(this.#chunks)
  }
}
