import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A request as the server received it. */
export interface RecordedRequest {
  method: string
  /** Path and query. */
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** The response of the server to one request, or its failure to respond. */
export type Behavior = (
  request: RecordedRequest,
  response: ServerResponse,
  incoming: IncomingMessage,
) => void | Promise<void>

/** One behavior for all requests, a list with the last for all later requests, or a choice by request. */
export type Script = Behavior | Behavior[] | { choose: (request: RecordedRequest, index: number) => Behavior }

export interface FaultServer {
  /** `http://127.0.0.1:port`. */
  url: string
  /** All requests so far, oldest first. */
  requests: RecordedRequest[]
  close(): Promise<void>
}

/**
 * Starts a server on loopback with scripted behavior.
 * @param at the port (default: a free port)
 */
export async function startFaultServer(script: Script, at = 0): Promise<FaultServer> {
  const requests: RecordedRequest[] = []
  const server = createServer(async (incoming, response) => {
    let body = ''
    incoming.setEncoding('utf8')
    // In many tests a client disconnects in the middle of a request.
    try {
      for await (const chunk of incoming) body += chunk
    } catch {
      return
    }
    const { method = '', url: path = '', headers } = incoming
    const request: RecordedRequest = { method, path, headers, body }
    const index = requests.push(request) - 1
    const behavior = chooseBehavior(script, request, index)
    await behavior(request, response, incoming)
  })
  // By default, Node.js closes idle connections. If a busy machine then stops the test for some seconds, its timer is
  // due before the client sends the next request, which fails.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function chooseBehavior(script: Script, request: RecordedRequest, index: number): Behavior {
  if (typeof script === 'function') return script
  if (!Array.isArray(script)) return script.choose(request, index)
  const behavior = script[Math.min(index, script.length - 1)]
  if (!behavior) throw new Error('the script is empty')
  return behavior
}

type Headers = Record<string, string | string[]>

/** A complete response. */
export function answer(status: number, headers: Headers = {}, body: string | Uint8Array = ''): Behavior {
  return (_, response) => {
    response.writeHead(status, headers).end(body)
  }
}

/** A JSON response. */
export function json(status: number, body: unknown, headers: Headers = {}): Behavior {
  return answer(status, { 'content-type': 'application/json', ...headers }, JSON.stringify(body))
}

/** The documented error body (docs/interface.md, "Errors"). */
export function failing(status: number, code: string, message: string, headers: Headers = {}): Behavior {
  return json(status, { error: { code, message } }, headers)
}

/** 429 with only the given headers. */
export function limited(headers: Headers = {}): Behavior {
  return failing(429, 'rate_limit_exceeded', 'Rate limit exceeded', headers)
}

export function redirect(status: number, location: string): Behavior {
  return answer(status, { location })
}

/** Resets the connection (TCP RST) instead of a response. */
export const reset: Behavior = (_, __, incoming) => {
  incoming.socket.resetAndDestroy()
}

/** Closes the connection instead of a response. */
export const hangUp: Behavior = (_, __, incoming) => {
  incoming.socket.end()
}

/** Announces a body, sends `part` of it, and resets the connection. */
export function resetMidBody(part = '{"half":', status = 200): Behavior {
  return async (_, response, incoming) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': part.length + 100 })
    response.write(part)
    await sleep(20)
    incoming.socket.resetAndDestroy()
  }
}

/** Announces more bytes than it sends, and closes the connection normally. */
export function shortBody(part = '{"half":', status = 200): Behavior {
  return async (_, response, incoming) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': part.length + 100 })
    response.write(part)
    await sleep(20)
    incoming.socket.end()
  }
}

/** Never responds. */
export const silent: Behavior = () => {}

/** The response of a gateway whose service is down. */
export const html502: Behavior = answer(
  502,
  { 'content-type': 'text/html' },
  '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>',
)

/** 200 with a body that is not JSON. */
export const garbage: Behavior = answer(200, { 'content-type': 'application/json' }, '<<< not JSON >>>')

/** 200 with a web page, such as the sign-in page of a proxy. */
export const webPage: Behavior = answer(
  200,
  { 'content-type': 'text/html' },
  '<!doctype html><html><body>Please sign in</body></html>',
)

/** 200 without a body. */
export const empty: Behavior = answer(200, { 'content-length': '0' })

export const noContent: Behavior = answer(204)

/** Waits before the behavior. */
export function delayed(ms: number, behavior: Behavior): Behavior {
  return async (request, response, incoming) => {
    await sleep(ms)
    await behavior(request, response, incoming)
  }
}

/** How a streamed body ends: normally, with a reset, without its last chunk, or never. */
type StreamEnding = 'clean' | 'reset' | 'unfinished' | 'stalled'

export interface StreamOptions {
  type?: string
  status?: number
  headers?: Headers
  /** Milliseconds before each chunk except the first. */
  pause?: number
  ending?: StreamEnding
}

/** A chunked body. */
export function stream(chunks: (string | Uint8Array)[], options: StreamOptions = {}): Behavior {
  const { type = 'text/event-stream', status = 200, headers = {}, pause = 0, ending = 'clean' } = options
  return async (_, response, incoming) => {
    response.writeHead(status, { 'content-type': type, ...headers })
    response.flushHeaders()
    for (const [index, chunk] of chunks.entries()) {
      // Each chunk is written in a separate turn, so that chunks do not share a packet.
      if (index > 0) await sleep(pause)
      if (response.destroyed) return
      response.write(chunk)
    }
    if (ending === 'clean') response.end()
    if (ending === 'reset' || ending === 'unfinished') await sleep(20)
    if (ending === 'reset') incoming.socket.resetAndDestroy()
    if (ending === 'unfinished') incoming.socket.end()
  }
}

/** Server-sent events with JSON data, and `[DONE]` unless `done` is false. */
export function sse(frames: unknown[], options: StreamOptions & { done?: boolean } = {}): Behavior {
  const events = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
  return stream(options.done === false ? events : [...events, 'data: [DONE]\n\n'], options)
}

/** One JSON value per line. */
export function ndjson(frames: unknown[], options: StreamOptions = {}): Behavior {
  const lines = frames.map((frame) => `${JSON.stringify(frame)}\n`)
  return stream(lines, { type: 'application/x-ndjson', ...options })
}

/** The address of a loopback port on which nothing listens. */
export async function deadUrl(): Promise<string> {
  const server = await startFaultServer(silent)
  await server.close()
  return server.url
}
