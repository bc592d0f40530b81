import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../system/clock.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { ServiceRequest } from '../service-request.ts'

export interface RecordOptions {
  metrics: Metrics | undefined
  /** Whether the log contains the client's address. */
  logsAddresses: boolean
  clock: Clock
}

/**
 * Logs and counts the end of a request, however it ends. Call it when the request begins.
 * @param known what the pipeline finds out about the request until it ends
 */
export function recordResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  known: Pick<ServiceRequest, 'endpoint' | 'keyId' | 'streamError'>,
  { metrics, logsAddresses, clock }: RecordOptions,
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
