import { createServer, type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Certificate } from './certificate.ts'

export interface RecordedRequest {
  method: string
  /** Path and query. Of a CONNECT request, the target. */
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** The response of the server to one request, or its failure to respond. */
export type Behavior = (
  request: RecordedRequest,
  response: ServerResponse,
  incoming: IncomingMessage,
) => unknown

/** Chooses the behavior for each request, and may keep a state. */
export interface Handler {
  choose(request: RecordedRequest, index: number): Behavior
}

/** One behavior for all requests, a list with the last for all later requests, or a choice by request. */
export type Script = Behavior | Behavior[] | Handler

export interface ScriptedServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`, or the same with https. */
  readonly url: string
  /** All requests so far, oldest first. */
  readonly requests: RecordedRequest[]
  /**
   * Behaviors instead of those of the script, by path or by method and path, without the query: one for
   * all requests, or a list of which each is used once.
   */
  readonly faults: Map<string, Behavior | Behavior[]>
  /** The requests so far with this path, without the query. */
  requestsOf(path: string): RecordedRequest[]
  /** Follows another script from now on, also if it was closed, and forgets the requests so far. @returns the URL */
  serve(script: Script): Promise<string>
  connections(): number
  /** Listens again at the same address after it was closed. */
  open(): Promise<void>
  close(): Promise<void>
}

interface ServerOptions {
  /** Default: a free port. */
  port?: number
  certificate?: Certificate
}

/** Starts a server on loopback that follows a script. See README.md. */
export async function startScriptedServer(
  script: Script = failing(500, 'no_script', 'The test has no script'),
  { port = 0, certificate }: ServerOptions = {},
): Promise<ScriptedServer> {
  const requests: RecordedRequest[] = []
  const faults: ScriptedServer['faults'] = new Map()
  const sockets = new Set<Socket>()
  let current = script
  const respond = async (incoming: IncomingMessage, response: ServerResponse, body: string) => {
    const { method = '', url: path = '', headers } = incoming
    const request: RecordedRequest = { method, path, headers, body }
    const index = requests.push(request) - 1
    const behavior = takeFault(faults, request) ?? chooseBehavior(current, request, index)
    await behavior(request, response, incoming)
  }
  const server = certificate ? createSecureServer(certificate) : createServer()
  server.on('request', async (incoming, response) => {
    let body = ''
    incoming.setEncoding('utf8')
    // In many tests a client disconnects in the middle of a request.
    try {
      for await (const chunk of incoming) body += chunk
    } catch {
      return
    }
    await respond(incoming, response, body)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Socket) => {
    const response = new ServerResponse(incoming)
    response.assignSocket(socket)
    return respond(incoming, response, '')
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // By default, Node.js closes idle connections. If a busy machine then stops the test for some seconds, its timer is
  // due before the client sends the next request, which fails.
  server.keepAliveTimeout = 0
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  const close = async () => {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(port)
  const { port: own } = server.address() as AddressInfo
  const url = `${certificate ? 'https' : 'http'}://127.0.0.1:${own}`
  return {
    url,
    requests,
    faults,
    requestsOf: (wanted) => requests.filter(({ path }) => pathnameOf(path) === wanted),
    async serve(next) {
      if (!server.listening) await listen(own)
      current = next
      requests.length = 0
      return url
    },
    connections: () => sockets.size,
    open: () => listen(own),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** A handler that has a server. */
export type Served<H extends Handler> = H & ScriptedServer

/** Starts a server for a handler, which then has the members of the server, too. */
export async function serveHandler<H extends Handler>(
  handler: H,
  options?: ServerOptions,
): Promise<Served<H>> {
  return Object.assign(handler, await startScriptedServer(handler, options))
}

function takeFault(
  faults: ScriptedServer['faults'],
  { method, path }: RecordedRequest,
): Behavior | undefined {
  const pathname = pathnameOf(path)
  const found = faults.get(`${method} ${pathname}`) ?? faults.get(pathname)
  return Array.isArray(found) ? found.shift() : found
}

export function pathnameOf(path: string): string {
  return path.split('?')[0] ?? ''
}

function chooseBehavior(script: Script, request: RecordedRequest, index: number): Behavior {
  if (typeof script === 'function') return script
  if (!Array.isArray(script)) return script.choose(request, index)
  const behavior = script[Math.min(index, script.length - 1)]
  if (!behavior) throw new Error('the script is empty')
  return behavior
}

type Headers = Record<string, string | string[]>

export function answer(status: number, headers: Headers = {}, body: string | Uint8Array = ''): Behavior {
  return (_, response) => {
    response.writeHead(status, headers).end(body)
  }
}

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

/** Stops the server after its response: nothing listens for the next connection. */
export function thenClosed(server: Pick<ScriptedServer, 'close'>, behavior: Behavior): Behavior {
  return (request, response, incoming) => {
    response.once('finish', () => server.close())
    return behavior(request, response, incoming)
  }
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

/** Opens the tunnel of a CONNECT request to a server on loopback, whatever host the request names. */
export function tunnelTo(port: () => number | string): Behavior {
  return (_, __, { socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    joinSockets(socket, connect(Number(port()), '127.0.0.1'))
  }
}

/** Passes on bytes in both directions. */
export function joinSockets(socket: Socket, target: Socket): void {
  for (const [one, other] of [
    [socket, target],
    [target, socket],
  ] as const) {
    one.pipe(other)
    one.on('error', () => other.destroy()).on('close', () => other.destroy())
  }
}

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

export function ndjson(frames: unknown[], options: StreamOptions = {}): Behavior {
  const lines = frames.map((frame) => `${JSON.stringify(frame)}\n`)
  return stream(lines, { type: 'application/x-ndjson', ...options })
}

/** The address of a loopback port on which nothing listens. */
export async function deadUrl(): Promise<string> {
  await using server = await startScriptedServer()
  return server.url
}
