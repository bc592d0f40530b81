import { readBaseUrl } from '../contract/base-url.ts'
import { type Endpoint, type EndpointName, endpoints, type ResponseOf } from '../contract/endpoints.ts'
import type { Failure } from '../contract/failure.ts'
import { bearer } from '../contract/headers.ts'
import { requestDefaults } from '../contract/request-defaults.ts'
import type { SendResponse } from '../contract/resources/conversation.ts'
import type { StreamFormat } from '../contract/resources/stream-event.ts'
import { type Clock, systemClock } from '../system/clock.ts'
import { type Network, openTransport, processTransport, type Transport } from '../system/network/transport.ts'
import { once } from '../system/once.ts'
import { Chat } from './chat.ts'
import type { ClientOptions } from './client-options.ts'
import { deliver, type FinalResponse, isSuccess, type Reading, RequestEffect } from './deliver.ts'
import { History } from './history/history.ts'
import { resolvePath } from './network/address.ts'
import { obtainCredential } from './obtain-credential.ts'
import {
  type CollectOptions,
  composeRawRequest,
  composeRequest,
  defaultTimeoutOf,
  type Input,
  type OutgoingRequest,
  type RawRequest,
} from './outgoing-request.ts'
import { concealFailure, type Redact, redactorOfRequest, withoutSecret } from './redaction.ts'
import { responseFailure } from './response/error-response.ts'
import {
  type Confirmation,
  readConfirmation,
  readRawResponse,
  readResponse,
} from './response/read-response.ts'
import type { ApiResponse, RawResponse } from './response/response.ts'
import { Settings } from './settings.ts'
import { collectReply } from './stream/collect-reply.ts'
import { openReplyStream, type ReplyStream, type StreamSource, streamAccept } from './stream/reply-stream.ts'
import { Users } from './users.ts'

/**
 * A client of the service at one base URL, with one pool of keep-alive connections. Every call rejects
 * with a `Failure` if the request fails, and with the signal's reason if it is aborted.
 */
export class Client {
  /** Replies and models: `/api/chat/send`, `/v1/chat/…` (docs/interface.md, "Endpoints"). */
  readonly chat: Chat
  /** Earlier messages: `/api/chat/history` (docs/interface.md, "Chat history"). */
  readonly history: History
  /** Settings and API configuration: `/v1/settings…` (docs/interface.md, "Application settings"). */
  readonly settings: Settings
  /** Users and permissions: `/v1/users…`, `/api/user/…` (docs/interface.md, "User"). */
  readonly users: Users
  readonly #options: ClientOptions
  readonly #clock: Clock
  readonly #base: () => URL
  #network: Promise<Network> | undefined

  /** Opens no connection; the first request does. */
  constructor(options: ClientOptions) {
    this.#options = options
    this.#clock = options.internal?.clock ?? systemClock
    this.#base = once(() => readBaseUrl(options.baseUrl))
    this.chat = new Chat(this)
    this.history = new History(this)
    this.settings = new Settings(this)
    this.users = new Users(this)
  }

  /** Calls a documented endpoint. @internal */
  async call<N extends EndpointName>(name: N, input: Input<N> = {}): Promise<ApiResponse<ResponseOf<N>>> {
    const request = composeRequest(name, input, 'application/json')
    return this.#exchange(request, input.signal, wholeBody, ({ finalResponse }) => {
      this.#assertSuccess(finalResponse)
      const result = readResponse(endpoints[name] as Endpoint, finalResponse) as ApiResponse<ResponseOf<N>>
      return { result, response: result }
    })
  }

  /** Calls a documented endpoint and reads the response as it arrives. @internal */
  async stream<N extends EndpointName>(
    name: N,
    input: Input<N> = {},
    format?: StreamFormat,
  ): Promise<ReplyStream> {
    const request = composeRequest(name, input, streamAccept)
    return this.#exchange(request, input.signal, streamedBody, (delivered) => ({
      result: openReplyStream(this.#streamOf(delivered, format)),
    }))
  }

  /** Sends a message and reads the streamed reply to its end. @internal */
  async collect(
    input: Input<'sendMessage'>,
    { onEvent = () => {} }: CollectOptions = {},
  ): Promise<ApiResponse<SendResponse>> {
    // A reply that is not shown while it arrives may pause for as long as its first byte may take.
    const { timeout = requestDefaults.replyTimeout, maxBodyMiB } = this.#options
    const request = composeRequest('sendMessage', input, streamAccept)
    return this.#exchange(request, input.signal, streamedBody, async (delivered) => {
      const source = this.#streamOf(delivered)
      const idleTimeout = Math.max(source.idleTimeout, timeout)
      return { result: await collectReply({ ...source, idleTimeout }, { onEvent, maxBodyMiB }) }
    })
  }

  #streamOf({ finalResponse, redact }: Delivered, format?: StreamFormat): StreamSource {
    this.#assertSuccess(finalResponse)
    const idleTimeout = this.#options.idleTimeout ?? this.#options.timeout ?? requestDefaults.replyTimeout
    return { finalResponse, format, idleTimeout, redact }
  }

  /**
   * Sends any request below the base URL and resolves with the response, whatever its status.
   * @throws Failure `refused` for a method, path, or header that cannot be sent; the failures of the
   *   network otherwise
   */
  async send(raw: RawRequest): Promise<RawResponse> {
    const reading = { stream: false, wholeErrors: true }
    return this.#exchange(composeRawRequest(raw), raw.signal, reading, (delivered) => {
      const { finalResponse, redact, effect } = delivered
      const failure = this.#failureOf(finalResponse)
      const result = readRawResponse(finalResponse, failure && effect.settle(failure), redact)
      return { result, ...(failure ? { failure } : readConfirmation(finalResponse)) }
    })
  }

  /**
   * Sends any request below the base URL and resolves with the response if its status is 2xx.
   * @throws Failure of the kind that the status means (docs/interface.md, "Errors"), or as `send`
   */
  async request(raw: RawRequest): Promise<RawResponse> {
    const response = await this.send(raw)
    if (response.failure) throw response.failure
    return response
  }

  /** Aborts the requests in progress and closes every connection. Call it when you are done. */
  async close(): Promise<void> {
    const network = this.#network?.catch(() => undefined)
    this.#network = undefined
    await (await network)?.close(closed())
  }

  /**
   * Sends a request, and reports its outcome to the function of the gate.
   * @param read returns how a response is read, too, or the failure that the call does not throw
   */
  async #exchange<T>(
    request: OutgoingRequest,
    own: AbortSignal | undefined,
    reading: Reading,
    read: (delivered: Delivered) => ReadResult<T> | Promise<ReadResult<T>>,
  ): Promise<T> {
    const options = this.#options
    const signal = options.signal && own ? AbortSignal.any([options.signal, own]) : (own ?? options.signal)
    signal?.throwIfAborted()
    request.headers['user-agent'] ??= options.userAgent ?? 'chatctl'
    // RFC 9110 section 12.5.3: without this header, the service may use any coding. The client decodes none.
    request.headers['accept-encoding'] ??= 'identity'
    const url = resolvePath(this.#base(), request.path, request.query)
    if (typeof options.credential === 'string') bearer(options.credential)
    const onOutcome = (await options.gate?.(request)) || undefined
    const effect = new RequestEffect({ ...request, url }, onOutcome)
    try {
      const delivered = await this.#deliver(request, url, { signal, own }, reading, effect)
      const { finalResponse, redact } = delivered
      const { result, response, failure } = await withoutSecret(redact, () => read(delivered))
      if (failure) effect.failed(concealFailure(failure, redact))
      else effect.succeeded(finalResponse, redact, response)
      return result
    } catch (error) {
      throw effect.failed(error)
    }
  }

  async #deliver(
    request: OutgoingRequest,
    url: URL,
    { signal, own }: { signal: AbortSignal | undefined; own: AbortSignal | undefined },
    reading: Reading,
    effect: RequestEffect,
  ): Promise<Delivered> {
    const options = this.#options
    const timeout = options.timeout ?? defaultTimeoutOf(request)
    // The credential may come from another process, so fetch it while the network modules load.
    const pending = obtainCredential(options, own)
    pending.catch(() => {})
    const transport = await this.#transport(timeout)
    const body = encode(request.body)

    const send = async (credential: string | undefined) => {
      signal?.throwIfAborted()
      const headers = { ...request.headers }
      if (credential !== undefined) headers['authorization'] = bearer(credential)
      const redact = redactorOfRequest(credential, request.body)
      const finalResponse = await withoutSecret(redact, () =>
        deliver(
          { method: request.method, url, headers, body },
          {
            transport,
            policy: {
              retries: options.retries ?? requestDefaults.retries,
              maxWait: options.maxWait ?? requestDefaults.maxWait,
            },
            clock: this.#clock,
            timeout,
            ...reading,
            maxBodyMiB: options.maxBodyMiB,
            followRedirects: options.followRedirects ?? true,
            signal,
            redact,
            observe: options.observe,
            openTrace: options.internal?.openTrace,
            effect,
          },
        ),
      )
      return { finalResponse, redact, effect }
    }

    const credential = await pending
    const first = await send(credential)
    if (first.finalResponse.status !== 401 || credential === undefined) return first
    const another = await obtainCredential(options, own, credential)
    if (another === undefined || another === credential) return first
    return send(another)
  }

  async #transport(timeout: number): Promise<Transport> {
    const { internal, connectTimeout = 10_000, env = {} } = this.#options
    if (internal?.openHandler) return processTransport(await internal.openHandler())
    const connecting = Math.min(connectTimeout, timeout)
    this.#network ??= openTransport(this.#base(), { env, connectTimeout: connecting })
    return (await this.#network).transport
  }

  #assertSuccess(finalResponse: FinalResponse): void {
    const failure = this.#failureOf(finalResponse)
    if (failure) throw failure
  }

  #failureOf(finalResponse: FinalResponse): Failure | undefined {
    if (isSuccess(finalResponse)) return undefined
    return responseFailure(finalResponse, finalResponse.request, finalResponse.asked, this.#clock.now())
  }
}

/** How most responses are read. */
const wholeBody: Reading = { stream: false, wholeErrors: false }
const streamedBody: Reading = { stream: true, wholeErrors: false }

interface ReadResult<T> extends Confirmation {
  result: T
}

interface Delivered {
  finalResponse: FinalResponse
  /** Removes the secrets of the request. */
  redact: Redact
  effect: RequestEffect
}

/** Without a stack: Node reads the stack of an error that destroys a socket, and computing it is slow. */
function closed(): Error {
  return Object.assign(new Error('the client was closed'), { code: 'UND_ERR_DESTROYED', stack: '' })
}

function encode(body: unknown): string | Uint8Array | undefined {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return body
  return JSON.stringify(body)
}
