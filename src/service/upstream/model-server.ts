import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { Clock } from '../../system/clock.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { findUpstream, type UpstreamOptions } from './upstream-address.ts'
import {
  type FailedResponse,
  invalidResponse,
  readFailedResponse,
  statusError,
  upstreamError,
} from './upstream-error.ts'

/** All in ms. */
export interface UpstreamTimeouts {
  connect: number
  /** To the head of a streamed answer: a model may have to be loaded first. */
  firstByte: number
  /** To the head of a whole answer: servers send it when the last token is there. */
  whole: number
  /** Between two pieces of a body. */
  idle: number
}

export const defaultTimeouts: UpstreamTimeouts = {
  connect: 10_000,
  firstByte: 300_000,
  whole: 600_000,
  idle: 120_000,
}

/** A completion as it leaves. */
interface CompletionBody {
  model: string
  stream: boolean
}

/** A connection to one model server, over which nothing but JSON and event streams goes. */
export interface ModelServer {
  /** As `UpstreamAddress` has it. */
  secrets: readonly string[]
  clock: Clock
  /** @throws ApiError, as `Upstream` says; the signal's reason */
  get(path: string, signal: AbortSignal): Promise<Dispatcher.ResponseData>
  /** The same; a stream is asked for its usage as well, unless the server is known to refuse that. */
  post(path: string, body: CompletionBody, signal: AbortSignal): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

/** @throws Failure `config` or `refused` for a URL or a key that cannot be used */
export async function connectModelServer(
  options: UpstreamOptions,
  timeouts: UpstreamTimeouts,
  clock: Clock,
): Promise<ModelServer> {
  const { base, key, secrets } = findUpstream(options)
  const prefix = base.pathname.replace(/\/+$/, '')
  const own = {
    accept: 'application/json, text/event-stream',
    // undici does not decompress.
    'accept-encoding': 'identity',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  }
  const withBody = { ...own, 'content-type': 'application/json' }
  const connections = openOriginConnections(base.origin, timeouts)
  let takesUsageRequest = true

  /** An answer outside of 2xx is read to its end. */
  async function send(
    path: string,
    request: Omit<Dispatcher.RequestOptions, 'path'>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData | FailedResponse> {
    signal.throwIfAborted()
    try {
      // undici hears of an abort only when it is connected (nodejs/undici#386).
      const response = await unlessAborted(
        connections.request({ ...request, path: `${prefix}${path}`, signal }),
        signal,
      )
      if (response.statusCode < 200 || response.statusCode > 299)
        return await readFailedResponse(response, clock)
      const coding = response.headers['content-encoding'] ?? 'identity'
      if (coding === 'identity') return response
      // Nobody reads it, so nobody else would take the error.
      response.body.on('error', () => {}).destroy()
      throw invalidResponse(`sent a compressed response (${coding}), which was not requested`)
    } catch (error) {
      throw upstreamError(error, signal)
    }
  }

  function sendCompletion(path: string, body: CompletionBody, signal: AbortSignal) {
    const request = {
      method: 'POST',
      headers: withBody,
      headersTimeout: body.stream ? timeouts.firstByte : timeouts.whole,
      body: JSON.stringify(body),
    } as const
    return send(path, request, signal)
  }

  return {
    secrets,
    clock,
    async get(path, signal) {
      const request = { method: 'GET', headers: own, headersTimeout: timeouts.firstByte } as const
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
 * OpenAI, vLLM and llama.cpp count the tokens of a stream only when asked. Mistral and some of
 * Azure's refuse the question; a refused one costs no tokens.
 */
const usageRequest = { stream_options: { include_usage: true } }

const refusesUsageRequest = (response: Dispatcher.ResponseData | FailedResponse) =>
  'status' in response &&
  (response.status === 400 || response.status === 422) &&
  /stream_options|include_usage/.test(response.text)

/** Connections to one origin, each kept for the next request when an answer is over. */
interface OriginConnections {
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

/**
 * A server may close a connection that is kept just when a request leaves on it, and so before it
 * has seen the request: that is asked once more, on a new connection. What breaks on a new one is
 * not asked again, for the request may be what broke it.
 * @param timeouts in ms: to connect, and between two pieces of a body
 */
function openOriginConnections(
  origin: string,
  timeouts: { connect: number; idle: number },
): OriginConnections {
  /** Failures of connections over which something had come before. */
  const reusedConnectionErrors = new WeakSet<object>()
  const connect = buildConnector({ allowH2: false, timeout: timeouts.connect })
  const watched: buildConnector.connector = (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      socket?.once('error', (error) => {
        if (socket.bytesRead > 0) reusedConnectionErrors.add(error)
      })
      callback(...result)
    })
  // One connection for each answer: leaving a stream closes it, which every server notices.
  const options = { allowH2: false, connect: watched, bodyTimeout: timeouts.idle }
  const kept = new Pool(origin, options)
  let unkept: Pool | undefined

  return {
    async request(request) {
      try {
        return await kept.request(request)
      } catch (error) {
        if (!reusedConnectionErrors.has(Object(error))) throw error
        unkept ??= new Pool(origin, { ...options, pipelining: 0 })
        return await unkept.request(request)
      }
    },
    async close() {
      await Promise.all([kept.destroy(), unkept?.destroy()])
    },
  }
}
