import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { readModelServer } from '../../contract/model-server-address.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import type { Clock } from '../../system/clock.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import {
  type HttpRequest,
  type Network,
  type OpenResponse,
  openTransport,
} from '../../system/network/transport.ts'
import {
  type FailedResponse,
  invalidResponse,
  modelServerError,
  modelTimeout,
  readFailedResponse,
  statusError,
} from './model-server-error.ts'
import type { CompletionBody } from './reply-source.ts'
import { isAboutField, renameLimit } from './token-limit.ts'

export interface ModelServerOptions {
  /** The base URL, with `/v1` if the server has it, or the name of a known server. */
  url: string
  /** The key for the model server. The key of a client is never sent to it. */
  key?: string | undefined
  keyFile?: string | undefined
  env?: NodeJS.ProcessEnv | undefined
}

/**
 * How long, in ms, a connection may take, and how long a server may send nothing: it may have to load the model
 * first, and sends a response that is not streamed after the last token. The request of a client has its own
 * timeout: a client that gives up disconnects, which cancels the model.
 */
export const defaultTimeouts = { connect: 10_000, silence: modelTimeout }

export type ModelServerTimeouts = typeof defaultTimeouts

/** @throws Failure `config` or `refused` for a URL or a key that cannot be used */
export async function connectModelServer(
  options: ModelServerOptions,
  timeouts: ModelServerTimeouts,
  clock: Clock,
): Promise<ModelServer> {
  const base = readModelServer(options.url)
  const { env } = options
  const network = await openTransport(base, { env, connectTimeout: timeouts.connect }, timeouts.silence)
  return new ModelServer(base, options, network, clock)
}

/** The HTTP client of one model server, for JSON and event streams. */
export class ModelServer {
  /** The keys and the address, which servers and gateways quote in errors, and which clients must not see. */
  readonly secrets: string[]
  readonly clock: Clock
  readonly #base: URL
  readonly #options: ModelServerOptions
  readonly #network: Network
  #key: string | undefined
  #takesUsageRequest = true
  /** The models that take `max_completion_tokens` in place of `max_tokens`. */
  readonly #renaming = new Set<string>()

  /** @throws Failure as `readKey` */
  constructor(base: URL, options: ModelServerOptions, network: Network, clock: Clock) {
    this.#base = base
    this.#key = readKey(options, base)
    this.#options = options
    this.#network = network
    this.clock = clock
    this.secrets = [this.#key, base.host, base.hostname].filter((text) => text !== undefined)
  }

  /** As `ReplySource`. */
  reload(): void {
    this.#key = readKey(this.#options, this.#base)
    // The old key is still a secret: errors of requests in progress may quote it.
    if (this.#key !== undefined) this.secrets.push(this.#key)
  }

  /** @throws ApiError as `ReplySource`; the signal's reason */
  async get(path: string, signal: AbortSignal): Promise<OpenResponse> {
    return this.#demandSuccess(await this.#send(path, { method: 'GET', headers: this.#headers() }, signal))
  }

  /**
   * A stream also requests its usage, unless the server has refused that before. A format that the server refuses is
   * omitted. @throws as `get`
   */
  async post(given: CompletionBody, isRelayed: boolean, signal: AbortSignal): Promise<OpenResponse> {
    const asksForUsage = !isRelayed && given['stream'] === true && this.#takesUsageRequest
    let body: CompletionBody = asksForUsage ? { ...given, ...usageRequest } : given
    let response = await this.#sendCompletion(body, signal)
    if (asksForUsage && refuses(response, /stream_options|include_usage/)) {
      this.#takesUsageRequest = false
      body = given
      response = await this.#sendCompletion(body, signal)
    }
    // A server may refuse only this schema.
    if (!isRelayed && body['response_format'] && refuses(response, /response_format|schema|grammar/i)) {
      response = await this.#sendCompletion({ ...body, response_format: undefined }, signal)
    }
    return this.#demandSuccess(response, body)
  }

  #demandSuccess(response: OpenResponse | FailedResponse, body?: CompletionBody) {
    if ('read' in response) return response
    throw statusError(response, body?.model, this.secrets, this.#network.forwarder?.variable)
  }

  close(): Promise<void> {
    return this.#network.close()
  }

  #headers(ofBody?: { 'content-type': string }): Record<string, string> {
    return {
      accept: 'application/json, text/event-stream',
      // undici does not decompress.
      'accept-encoding': 'identity',
      ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
      ...ofBody,
    }
  }

  /** Sends the limit of the tokens in the field that the model takes, unless the client chose the newer one. */
  async #sendCompletion(given: CompletionBody, signal: AbortSignal) {
    const { model, max_tokens, max_completion_tokens: chosen } = given
    const isMovable = max_tokens !== undefined && chosen === undefined
    const body = isMovable && this.#renaming.has(model) ? renameLimit(given) : given
    const response = await this.#post(body, signal)
    if (!isMovable || !refuses(response, { test: isAboutField })) return response
    const second = await this.#post(renameLimit(body), signal)
    if ('read' in second) this.#renaming[body === given ? 'add' : 'delete'](model)
    return second
  }

  #post(body: CompletionBody, signal: AbortSignal) {
    const headers = this.#headers({ 'content-type': 'application/json' })
    return this.#send('/chat/completions', { method: 'POST', headers, body: JSON.stringify(body) }, signal)
  }

  /** Reads a response to its end if its status is not 2xx. */
  async #send(
    path: string,
    request: Omit<HttpRequest, 'url'>,
    signal: AbortSignal,
  ): Promise<OpenResponse | FailedResponse> {
    signal.throwIfAborted()
    try {
      const url = new URL(this.#base.origin + withoutTrailing(this.#base.pathname, '/') + path)
      const response = await this.#network.transport({ ...request, url }, signal, () => {})
      if (response.status < 200 || response.status > 299)
        return await readFailedResponse(response, this.clock)
      const coding = response.headers['content-encoding'] ?? 'identity'
      if (coding === 'identity') return response
      response.cancel()
      throw invalidResponse(`sent a compressed response (${coding}), which was not requested`)
    } catch (error) {
      throw modelServerError(error, signal)
    }
  }
}

/**
 * OpenAI, vLLM, and llama.cpp count the tokens of a stream only on request. Mistral and some servers of
 * Azure refuse such a request, which costs no tokens.
 */
const usageRequest = { stream_options: { include_usage: true } }

const refuses = (response: OpenResponse | FailedResponse, fields: Pick<RegExp, 'test'>) =>
  'text' in response && (response.status === 400 || response.status === 422) && fields.test(response.text)

/** @throws Failure `config` or `refused` */
function readKey(
  { key: given, keyFile }: ModelServerOptions,
  { protocol, hostname, host }: URL,
): string | undefined {
  const key = given ?? (keyFile === undefined ? undefined : readKeyFile(keyFile))
  if (key !== undefined && protocol === 'http:' && !isLoopback(hostname)) {
    throw new Failure('refused', `The key of the model server would be sent unencrypted to ${host}`, {
      hint: 'Use an https:// URL for a model server on another machine',
    })
  }
  return key
}

function readKeyFile(file: string): string {
  const name = `The key file of the model server, ${file}`
  const bytes = readNamedFile(file, { name, maxBytes: maxSecretBytes, isSecret: true, kind: 'config' })
  const key = bytes.toString('utf8').trim()
  // RFC 6750 section 2.1: the characters of a bearer token.
  if (/^[A-Za-z0-9\-._~+/]+=*$/.test(key)) return key
  throw new Failure('config', `${file} must contain exactly one key`)
}
