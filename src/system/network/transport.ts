import type { Dispatcher } from 'undici'
import { unlessAborted } from '../unless-aborted.ts'
import type { ConnectOptions } from './connector.ts'
import { readFault, type Stage, tlsOnly } from './network-fault.ts'
import type { ProxyServer } from './proxy.ts'

/** A request that the network or a timeout ended. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly stage: Stage

  constructor(stage: Stage, cause: unknown) {
    super('request interrupted', { cause })
    this.stage = stage
  }
}

/** The reason of an abort by a timeout of `ms` milliseconds. */
export class Expired extends Error {
  override name = 'Expired'
  readonly ms: number

  constructor(ms: number) {
    super('timeout')
    this.ms = ms
  }
}

/** A request as it is sent. Header names are lower case. */
export interface HttpRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body?: string | Uint8Array | undefined
}

/** A response whose body has not been read. */
export interface OpenResponse {
  readonly status: number
  readonly statusText: string
  /** Names are lower case; a repeated field is joined with commas (RFC 9110 section 5.3). */
  readonly headers: Record<string, string>
  /**
   * The next bytes. Undefined at the regular end.
   * @throws Interrupted if the body is truncated; the reason of the signal if it is aborted
   */
  read(): Promise<Uint8Array | undefined>
  /** Closes the connection if the body has not ended. */
  cancel(): void
}

/**
 * Sends one request, and resolves when the head of its response has arrived.
 * @param onSent called when the connection is open and the request leaves
 * @throws Interrupted for a failure of the network or an `Expired` abort; else the reason of the signal
 */
export type Transport = (
  httpRequest: HttpRequest,
  signal: AbortSignal,
  onSent: () => void,
) => Promise<OpenResponse>

/** Bytes that are buffered for a slow reader before the socket is paused. */
const highWaterMark = 64 * 1024

/** The connections to one origin. */
export interface Network {
  transport: Transport
  /** The proxy that passes on the requests, and may itself respond. */
  forwarder?: ProxyServer['named'] | undefined
  close(reason?: Error): Promise<void>
}

/**
 * Opens the connections to one origin. Loads undici on demand. Uses its `dispatch` instead of `request`, because
 * `request` hides whether the first byte was sent before a failure, and because its abort waits for the connection.
 * @param silence how long, in ms, the server may send nothing. 0 if the caller has timers, which are exact: those of
 *   undici tick twice a second
 * @throws Failure as `openPool`
 */
export async function openTransport(origin: URL, options: ConnectOptions, silence = 0): Promise<Network> {
  const { openPool } = await import('./connector.ts')
  const { pool, close, prefix, headers, forwarder, speaksTls } = openPool(origin, options)
  const endReports = new EndReports()
  let hasAnswered = false
  const refusal = () => new Interrupted('connect', Object.assign(new Error(tlsOnly), { code: tlsOnly }))
  /** A server of TLS closes a connection of plain HTTP, or sends a page with status 400. */
  const explain = async (error: Error) => {
    const isClosed = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HTTPParserError)$/.test(readFault(error).code)
    return !hasAnswered && isClosed && (await speaksTls()) ? refusal() : new Interrupted('request', error)
  }
  const transport: Transport = (httpRequest, signal, onSent) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason)
        return
      }
      const { url, method, body = null } = httpRequest
      const onAnswer = async (response: OpenResponse) => {
        const isPage = response.status === 400 && !response.headers['content-type']?.includes('json')
        const isRefused = !hasAnswered && isPage && (await speaksTls())
        hasAnswered = true
        if (!isRefused) return resolve(response)
        reject(refusal())
        response.cancel()
      }
      pool.dispatch(
        {
          origin: url.origin,
          path: prefix + url.pathname + url.search,
          method,
          headers: { ...httpRequest.headers, ...headers },
          body,
          headersTimeout: silence,
          bodyTimeout: silence,
        },
        new RunningResponse({ signal, endReports, onSent, explain, resolve: onAnswer, reject }),
      )
    })
  return { transport, forwarder, close }
}

type Controller = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseData']>>[0]
type Head = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/**
 * Reports the ends of responses, one in each turn of the event loop. Undici frees a connection one turn after its
 * response, and notices then that the service has reset it. A request sent before that would open another
 * connection, or fail. If all responses of a turn were reported together, concurrent requests would leave
 * together, be answered together, and each response would wait until the others are processed.
 */
class EndReports {
  /** Oldest first. */
  readonly #pending: (() => void)[] = []

  add(report: () => void): void {
    this.#pending.push(report)
    if (this.#pending.length === 1) setImmediate(() => setImmediate(this.#reportNext))
  }

  readonly #reportNext = (): void => {
    this.#pending.shift()?.()
    if (this.#pending.length > 0) setImmediate(this.#reportNext)
  }
}

/** What a response reads and calls. */
interface Surroundings {
  signal: AbortSignal
  endReports: EndReports
  onSent(): void
  /** What ended a request that may have arrived. */
  explain(error: Error): Promise<Interrupted>
  resolve(response: OpenResponse): void
  reject(reason: unknown): void
}

class RunningResponse implements OpenResponse, Dispatcher.DispatchHandler {
  status = 0
  statusText = ''
  headers: Record<string, string> = {}
  #stage: Stage = 'connect'
  #controller: Controller | undefined
  #chunks: Uint8Array[] = []
  #held = 0
  #ended = false
  #failure: { reason: unknown } | undefined
  #reader: { resolve: (chunk: Uint8Array | undefined) => void; reject: (reason: unknown) => void } | undefined
  readonly #around: Surroundings

  constructor(around: Surroundings) {
    this.#around = around
    around.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#failure) {
      controller.abort(new Error('aborted'))
      return
    }
    this.#stage = 'request'
    this.#around.onSent()
  }

  onResponseStart(_controller: Controller, status: number, headers: Head, statusText?: string): void {
    // Interim responses (RFC 9110 section 15.2) say nothing about the outcome.
    if (status < 200) return
    this.#stage = 'body'
    this.status = status
    this.statusText = statusText ?? ''
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined)
        this.headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
    }
    this.#around.resolve(this)
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    if (this.#reader) {
      this.#reader.resolve(chunk)
      this.#reader = undefined
      return
    }
    this.#chunks.push(chunk)
    this.#held += chunk.length
    if (this.#held >= highWaterMark) controller.pause()
  }

  onResponseEnd(): void {
    // The response is complete, so a timeout no longer matters.
    this.#release()
    this.#around.endReports.add(() => {
      if (this.#failure) return
      this.#ended = true
      this.#reader?.resolve(undefined)
      this.#reader = undefined
    })
  }

  onResponseError(_controller: Controller, error: Error): void {
    const stage = this.#stage
    if (stage !== 'request' || this.#failure) this.#fail(new Interrupted(stage, error))
    else void this.#around.explain(error).then((interruption) => this.#fail(interruption))
  }

  read(): Promise<Uint8Array | undefined> {
    const chunk = this.#chunks.shift()
    if (chunk) {
      this.#held -= chunk.length
      if (this.#controller?.paused && this.#held < highWaterMark) this.#controller.resume()
      return Promise.resolve(chunk)
    }
    if (this.#failure) return Promise.reject(this.#failure.reason)
    if (this.#ended) return Promise.resolve(undefined)
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  cancel(): void {
    if (this.#ended || this.#failure) return
    this.#abort(new Interrupted(this.#stage, new Error('no longer wanted')))
  }

  readonly #onAbort = (): void => {
    const reason: unknown = this.#around.signal.reason
    this.#abort(reason instanceof Expired ? new Interrupted(this.#stage, reason) : reason)
  }

  #abort(reason: unknown): void {
    this.#chunks = []
    this.#fail(reason)
    this.#controller?.abort(new Error('aborted'))
  }

  #fail(reason: unknown): void {
    if (this.#ended || this.#failure) return
    this.#failure = { reason }
    this.#release()
    // Only one of the two is pending; settling a settled promise does nothing.
    this.#around.reject(reason)
    this.#reader?.reject(reason)
    this.#reader = undefined
  }

  #release(): void {
    this.#around.signal.removeEventListener('abort', this.#onAbort)
  }
}

/** Responds to requests in this process. Ends its work when the signal is aborted. */
export type RequestHandler = (httpRequest: HttpRequest, signal: AbortSignal) => Promise<OpenResponse>

/** Passes requests to a handler, which is always reached. */
export const processTransport =
  (handle: RequestHandler): Transport =>
  async (httpRequest, signal, onSent) => {
    signal.throwIfAborted()
    onSent()
    const response = await withStage('request', handle(httpRequest, signal), signal)
    return { ...response, read: () => withStage('body', response.read(), signal) }
  }

async function withStage<T>(stage: Stage, work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(work, signal)
  } catch (error) {
    if (signal.aborted && !(signal.reason instanceof Expired)) throw signal.reason
    throw new Interrupted(stage, signal.aborted ? signal.reason : error)
  }
}
