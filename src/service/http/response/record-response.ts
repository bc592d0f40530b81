import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../system/clock.ts'
import type { Metrics } from '../../metrics/metrics.ts'

export interface RecordOptions {
  metrics: Metrics | undefined
  /** Whether the log names the client's address. */
  logsAddresses: boolean
  /** The key that a request came with, once that is known. */
  keyOf(request: FastifyRequest): string | undefined
  clock: Clock
}

/** Has the end of a request logged and counted, however it ends; to be called at its beginning. */
export function recordResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  { metrics, logsAddresses, keyOf, clock }: RecordOptions,
): void {
  const startedAt = clock.monotonic()
  metrics?.beginRequest()
  // Not Fastify's `onResponse`, which no answer reaches that its client did not wait for.
  reply.raw.once('close', () => {
    const ms = clock.monotonic() - startedAt
    const { method } = request
    // 0 stands for a client that went away before the end of its answer.
    const status = reply.raw.writableFinished ? reply.statusCode : 0
    logResponse(request, status, Math.round(ms), {
      key: keyOf(request),
      ...(logsAddresses && { address: addressOf(request) }),
    })
    metrics?.endRequest({ endpoint: endpointOf(request), method, status, seconds: ms / 1000 })
  })
}

function logResponse(request: FastifyRequest, status: number, ms: number, who: object): void {
  const { method, url, routeOptions } = request
  // The address of a sign-in names it: what is logged is its route.
  const path = routeOptions.config?.isPublic ? routeOptions.url : url.split('?', 1)[0]
  const level = isProbe(path) && status === 200 ? 'debug' : 'info'
  const words = status === 0 ? 'client disconnected' : 'response sent'
  request.log[level]({ method, path, status, ms, ...who }, words)
}

/** Asked by machines, so often that the log would show nothing else. */
const isProbe = (path: string | undefined) => path === '/healthz' || path === '/readyz'

/** Which row of the contract's table, or which open route, a request was for; bounded, unlike its path. */
const endpointOf = ({ routeOptions }: FastifyRequest) => routeOptions.config?.endpoint ?? 'unknown'

/** Where a proxy does not add to it, `X-Forwarded-For` may hold anything. */
const addressOf = ({ ip }: FastifyRequest) => (isIP(ip) ? ip : undefined)
