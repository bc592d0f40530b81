import type { buildConnector, Dispatcher, Pool } from 'undici'
import { withoutTrailing } from '../../contract/notation/without-trailing.ts'
import type { Clock } from '../../system/clock.ts'
import { trustedConnect } from '../../system/trusted-connect.ts'
import { loadUndici } from '../../system/undici.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { findUpstream, type UpstreamOptions } from './upstream-address.ts'
import {
  type FailedResponse,
  invalidResponse,
  modelTimeout,
  readFailedResponse,
  statusError,
  upstreamError,
} from './upstream-error.ts'

/**
 * All in ms. The request of a client has its own timeout: a client that gives up disconnects, which cancels the
 * model. These are for clients that never do.
 */
export interface UpstreamTimeouts {
  connect: number
  /** Until the headers of a streamed response: the server may have to load the model first. */
  firstByte: number
  /** Until the headers of a response that is not streamed: servers send it after the last token. */
  whole: number
  /** Between two chunks of a body. */
  idle: number
}

export const defaultTimeouts: UpstreamTimeouts = {
  connect: 10_000,
  firstByte: modelTimeout,
  whole: modelTimeout,
  idle: modelTimeout,
}

/** The body of a completion request. */
interface CompletionBody {
  model: string
  stream: boolean
}

/** The HTTP client of one model server, for JSON and event streams. */
export interface ModelServer {
  /** See `UpstreamAddress`. */
  secrets: readonly string[]
  clock: Clock
  /** @throws ApiError as `Upstream`; the signal's reason */
  get(path: string, signal: AbortSignal): Promise<Dispatcher.ResponseData>
  /** A stream also requests its usage, unless the server has refused that before. @throws as `get` */
  post(path: string, body: CompletionBody, signal: AbortSignal): Promise<Dispatcher.ResponseData>
  /** As `Upstream`. */
  reload(): void
  close(): Promise<void>
}

/** @throws Failure `config` or `refused` for a URL or a key that cannot be used */
export async function connectModelServer(
  options: UpstreamOptions,
  timeouts: UpstreamTimeouts,
  clock: Clock,
): Promise<ModelServer> {
  const { base, ...given } = findUpstream(options)
  let { key } = given
  const secrets = [...given.secrets]
  const prefix = withoutTrailing(base.pathname, '/')
  const headers = (ofBody?: { 'content-type': string }) => ({
    accept: 'application/json, text/event-stream',
    // undici does not decompress.
    'accept-encoding': 'identity',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...ofBody,
  })
  const connections = await openOriginConnections(base.origin, timeouts)
  let takesUsageRequest = true

  /** Reads a response to its end if its status is not 2xx. */
  async function send(
    path: string,
    request: Omit<Dispatcher.RequestOptions, 'path'>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData | FailedResponse> {
    signal.throwIfAborted()
    try {
      // undici handles an abort only once it is connected (nodejs/undici#386).
      const response = await unlessAborted(
        connections.request({ ...request, path: `${prefix}${path}`, signal }),
        signal,
      )
      if (response.statusCode < 200 || response.statusCode > 299)
        return await readFailedResponse(response, clock)
      const coding = response.headers['content-encoding'] ?? 'identity'
      if (coding === 'identity') return response
      // Without a listener, an error of this unread body would be uncaught.
      response.body.on('error', () => {}).destroy()
      throw invalidResponse(`sent a compressed response (${coding}), which was not requested`)
    } catch (error) {
      throw upstreamError(error, signal)
    }
  }

  function sendCompletion(path: string, body: CompletionBody, signal: AbortSignal) {
    const request = {
      method: 'POST',
      headers: headers({ 'content-type': 'application/json' }),
      headersTimeout: body.stream ? timeouts.firstByte : timeouts.whole,
      body: JSON.stringify(body),
    } as const
    return send(path, request, signal)
  }

  return {
    secrets,
    clock,
    reload() {
      key = findUpstream(options).key
      // The old key is still a secret: errors of requests in progress may quote it.
      if (key !== undefined) secrets.push(key)
    },
    async get(path, signal) {
      const request = { method: 'GET', headers: headers(), headersTimeout: timeouts.firstByte } as const
      const response = await send(path, request, signal)
      if ('statusCode' in response) return response
      throw statusError(response, undefined, secrets)
    },
    async post(path, body, signal) {
      const asksForUsage = body.stream && takesUsageRequest
      let response = await sendCompletion(path, asksForUsage ? { ...body, ...usageRequest } : body, signal)
      if (asksForUsage && refusesUsageRequest(response)) {
        takesUsageRequest = false
        response = await sendCompletion(path, body, signal)
      }
      if ('statusCode' in response) return response
      throw statusError(response, body.model, secrets)
    },
    close: () => connections.close(),
  }
}

/**
 * OpenAI, vLLM, and llama.cpp count the tokens of a stream only on request. Mistral and some servers of
 * Azure refuse such a request, which costs no tokens.
 */
const usageRequest = { stream_options: { include_usage: true } }

const refusesUsageRequest = (response: Dispatcher.ResponseData | FailedResponse) =>
  'status' in response &&
  (response.status === 400 || response.status === 422) &&
  /stream_options|include_usage/.test(response.text)

/** Connections to one origin. Each is kept for the next request after a response. */
interface OriginConnections {
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

/**
 * A server may close a kept connection just when a request is sent on it, before it has seen the request.
 * Such a request is sent once more, on a new connection. A request that fails on a new connection is not
 * sent again, because the request may be the cause.
 * @param timeouts in ms: to connect, and between two chunks of a body
 */
async function openOriginConnections(
  origin: string,
  timeouts: { connect: number; idle: number },
): Promise<OriginConnections> {
  const { buildConnector, openPool } = await loadUndici()
  /** Errors of connections that had received data before. */
  const reusedConnectionErrors = new WeakSet<object>()
  const connect = buildConnector({ allowH2: false, timeout: timeouts.connect, ...trustedConnect })
  const watched: buildConnector.connector = (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      socket?.once('error', (error) => {
        if (socket.bytesRead > 0) reusedConnectionErrors.add(error)
      })
      callback(...result)
    })
  // HTTP/1.1: a stream that is left early closes its connection, which every server notices.
  const options = { allowH2: false, connect: watched, bodyTimeout: timeouts.idle }
  const kept = openPool(origin, options)
  let unkept: Pool | undefined

  return {
    async request(request) {
      try {
        return await kept.request(request)
      } catch (error) {
        if (!reusedConnectionErrors.has(Object(error))) throw error
        unkept ??= openPool(origin, { ...options, pipelining: 0 })
        return await unkept.request(request)
      }
    },
    async close() {
      await Promise.all([kept.destroy(), unkept?.destroy()])
    },
  }
}
