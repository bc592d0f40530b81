import type { ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../system/clock.ts'
import type { Metrics } from '../metrics/create-metrics.ts'
import { clientDisconnected } from '../to-api-error.ts'
import { type BodyRules, refusalOf, type ServiceRequest } from './service-request.ts'

/** What one piece of a body occupies besides its bytes, in bytes. */
const chunkOverhead = 512

export class HttpRequest implements ServiceRequest {
  endpoint?: string
  keyId?: string
  streamError?: string
  readonly id: string
  readonly method: string
  readonly url: string
  readonly headers: FastifyRequest['headers']
  readonly log: FastifyRequest['log']
  readonly #request: FastifyRequest
  readonly #response: ServerResponse

  constructor(request: FastifyRequest, { raw: response }: FastifyReply) {
    this.id = request.id
    this.method = request.method
    this.url = request.url
    this.headers = request.headers
    this.log = request.log
    this.#request = request
    this.#response = response
  }

  /** An invalid host is not repeated in a page. */
  get origin(): string {
    const { protocol, host, socket } = this.#request
    const scheme = protocol === 'https' ? 'https' : 'http'
    const isHost = /^([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i.test(host)
    const url = `${scheme}://${host}`
    if (isHost && URL.canParse(url)) return new URL(url).origin
    return new URL(`${scheme}://127.0.0.1:${socket.localPort}`).origin
  }

  readBody(rules: BodyRules): Promise<Uint8Array> {
    const { raw: incoming } = this.#request
    let length = 0
    let occupied = 0
    const received = new Promise<Buffer>((resolve, reject) => {
      const chunks: Buffer[] = []
      const onData = (chunk: Buffer) => {
        length += chunk.length
        occupied += chunk.length + chunkOverhead
        rules.receiving += chunk.length + chunkOverhead
        const refusal = refusalOf(length, rules)
        if (!refusal) return void chunks.push(chunk)
        // If the connection closed while the body still arrives, it would be reset, and some clients would
        // lose the response. The rest is discarded, until the request timeout.
        chunks.length = 0
        incoming.off('data', onData).resume()
        reject(refusal)
      }
      incoming.on('data', onData)
      incoming.once('end', () =>
        resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
      )
      incoming.once('error', () => reject(clientDisconnected()))
      incoming.once('close', () => {
        if (!incoming.complete) reject(clientDisconnected())
      })
    })
    return received.finally(() => {
      rules.receiving -= occupied
    })
  }

  get connection(): Socket {
    return this.#request.raw.socket
  }

  /** Node does not close a response that waits for an earlier one of its connection. */
  get isOver(): boolean {
    return this.#response.closed || this.#response.destroyed || this.connection.destroyed
  }

  get isAnswered(): boolean {
    return this.#response.writableFinished
  }

  onOver(listener: () => void): void {
    this.#response.once('close', listener)
  }
}

/**
 * Logs and counts the end of a request, however it ends. Call it when the request begins.
 * @param known what the pipeline finds out about the request until it ends
 * @param logsAddresses whether the log contains the client's address
 */
export function recordResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  known: Pick<ServiceRequest, 'endpoint' | 'keyId' | 'streamError'>,
  { metrics, logsAddresses, clock }: { metrics: Metrics | undefined; logsAddresses: boolean; clock: Clock },
): void {
  const startedAt = clock.monotonic()
  metrics?.beginRequest()
  // Fastify's `onResponse` is not called if the client disconnects before the response.
  reply.raw.once('close', () => {
    const ms = clock.monotonic() - startedAt
    const { method } = request
    // 0: the client disconnected before the end of the response.
    const status = reply.raw.writableFinished ? reply.statusCode : 0
    logResponse(request, status, Math.round(ms), {
      key: known.keyId,
      code: known.streamError,
      ...(logsAddresses && { address: addressOf(request) }),
    })
    const endpoint = known.endpoint ?? request.routeOptions.config?.endpoint ?? 'unknown'
    metrics?.endRequest({ endpoint, method, status, seconds: ms / 1000 })
  })
}

function logResponse(request: FastifyRequest, status: number, ms: number, client: object): void {
  const { method, url, routeOptions } = request
  // The path of a sign-in contains its id, so its route is logged instead.
  const path = routeOptions.config?.endpoint ? routeOptions.url : url.split('?', 1)[0]
  const level = isProbe(path) && status === 200 ? 'debug' : 'info'
  const words = status === 0 ? 'client disconnected' : 'response sent'
  request.log[level]({ method, path, status, ms, ...client }, words)
}

/** Whether a monitoring program requests this path, so often that the log would show nothing else. */
const isProbe = (path: string | undefined) => path === '/healthz' || path === '/readyz'

/** `X-Forwarded-For` may contain anything if the proxy does not set it. */
const addressOf = ({ ip }: FastifyRequest) => (isIP(ip) ? ip : undefined)
