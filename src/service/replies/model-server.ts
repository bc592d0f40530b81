import type { Dispatcher, Pool } from 'undici'
import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { readModelServer } from '../../contract/model-server-address.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import type { Clock } from '../../system/clock.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { trustedConnect } from '../../system/trusted-connect.ts'
import { loadUndici } from '../../system/undici.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import {
  type FailedResponse,
  invalidResponse,
  modelServerError,
  modelTimeout,
  readFailedResponse,
  statusError,
} from './model-server-error.ts'

export interface ModelServerOptions {
  /** The base URL, with `/v1` if the server has it, or the name of a known server. */
  url: string
  /** The key for the model server. The key of a client is never sent to it. */
  key?: string | undefined
  /** A file that holds the key. */
  keyFile?: string | undefined
}

/**
 * How long, in ms, a connection may take, and how long a server may send nothing: it may have to load the model
 * first, and sends a response that is not streamed after the last token. The request of a client has its own
 * timeout: a client that gives up disconnects, which cancels the model.
 */
export const defaultTimeouts = { connect: 10_000, silence: modelTimeout }

export type ModelServerTimeouts = typeof defaultTimeouts

/** The body of a completion request. */
interface CompletionBody {
  model: string
  stream?: unknown
  response_format?: unknown
  stream_options?: unknown
}

/** @throws Failure `config` or `refused` for a URL or a key that cannot be used */
export async function connectModelServer(
  options: ModelServerOptions,
  timeouts: ModelServerTimeouts,
  clock: Clock,
): Promise<ModelServer> {
  const base = readModelServer(options.url)
  const key = readKey(options, base)
  const { buildConnector, openPool } = await loadUndici()
  const connect = buildConnector({ allowH2: false, timeout: timeouts.connect, ...trustedConnect })
  // HTTP/1.1: a stream that is left early closes its connection, which every server notices.
  const pool = openPool(base.origin, {
    allowH2: false,
    connect,
    headersTimeout: timeouts.silence,
    bodyTimeout: timeouts.silence,
  })
  return new ModelServer(base, key, options, pool, clock)
}

/** The HTTP client of one model server, for JSON and event streams. */
export class ModelServer {
  /** The keys and the address, which servers and gateways quote in errors, and which clients must not see. */
  readonly secrets: string[]
  readonly clock: Clock
  readonly #base: URL
  readonly #options: ModelServerOptions
  readonly #pool: Pool
  #key: string | undefined
  #takesUsageRequest = true

  constructor(base: URL, key: string | undefined, options: ModelServerOptions, pool: Pool, clock: Clock) {
    this.#base = base
    this.#key = key
    this.#options = options
    this.#pool = pool
    this.clock = clock
    this.secrets = [key, base.host, base.hostname].filter((text) => text !== undefined)
  }

  /** As `ReplySource`. */
  reload(): void {
    this.#key = readKey(this.#options, this.#base)
    // The old key is still a secret: errors of requests in progress may quote it.
    if (this.#key !== undefined) this.secrets.push(this.#key)
  }

  /** @throws ApiError as `ReplySource`; the signal's reason */
  async get(path: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return this.#demandSuccess(await this.#send(path, { method: 'GET', headers: this.#headers() }, signal))
  }

  /**
   * A stream also requests its usage, unless the server has refused that before. A format that the server refuses is
   * omitted. @throws as `get`
   */
  async post(path: string, given: CompletionBody, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const asksForUsage = given.stream === true && this.#takesUsageRequest
    let body: CompletionBody = asksForUsage ? { ...given, ...usageRequest } : given
    let response = await this.#sendCompletion(path, body, signal)
    if (asksForUsage && refuses(response, /stream_options|include_usage/)) {
      this.#takesUsageRequest = false
      body = given
      response = await this.#sendCompletion(path, body, signal)
    }
    // A server may refuse only this schema.
    if (body.response_format && refuses(response, /response_format|schema|grammar/i)) {
      response = await this.#sendCompletion(path, { ...body, response_format: undefined }, signal)
    }
    return this.#demandSuccess(response, body)
  }

  /** Sends a request as it is. @throws as `get` */
  async relay(path: string, body: CompletionBody, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return this.#demandSuccess(await this.#sendCompletion(path, body, signal), body)
  }

  #demandSuccess(response: Dispatcher.ResponseData | FailedResponse, body?: CompletionBody) {
    if ('statusCode' in response) return response
    throw statusError(response, body?.model, this.secrets)
  }

  close(): Promise<void> {
    return this.#pool.destroy()
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

  #sendCompletion(path: string, body: CompletionBody, signal: AbortSignal) {
    const headers = this.#headers({ 'content-type': 'application/json' })
    return this.#send(path, { method: 'POST', headers, body: JSON.stringify(body) }, signal)
  }

  /** Reads a response to its end if its status is not 2xx. */
  async #send(
    path: string,
    request: Omit<Dispatcher.RequestOptions, 'path'>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData | FailedResponse> {
    signal.throwIfAborted()
    try {
      const prefix = withoutTrailing(this.#base.pathname, '/')
      // undici handles an abort only once it is connected (nodejs/undici#386).
      const response = await unlessAborted(
        this.#pool.request({ ...request, path: `${prefix}${path}`, signal }),
        signal,
      )
      if (response.statusCode < 200 || response.statusCode > 299)
        return await readFailedResponse(response, this.clock)
      const coding = response.headers['content-encoding'] ?? 'identity'
      if (coding === 'identity') return response
      // Without a listener, an error of this unread body would be uncaught.
      response.body.on('error', () => {}).destroy()
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

const refuses = (response: Dispatcher.ResponseData | FailedResponse, fields: RegExp) =>
  'status' in response && (response.status === 400 || response.status === 422) && fields.test(response.text)

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
