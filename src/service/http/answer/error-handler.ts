import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../../domain/refusal.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { errorBodyOf, statusOf, toRefusal } from './error-answer.ts'

/** Answers whatever was thrown while a request was answered. */
export function createErrorHandler(metrics: Metrics | undefined) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const refusal = toRefusal(error)
    logFailure(request, refusal)
    metrics?.countRefusal(refusal.code)
    // Closed now, with a body on the way, the connection would be reset and the answer lost to some: a
    // proxy says 502 then. Node reads on and forgets, for as long as a request may take.
    if (refusal.code === 'payload_too_large') reply.removeHeader('connection')
    if (refusal.code === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="chatctl"')
    if (refusal.retryAfter !== undefined) reply.header('retry-after', refusal.retryAfter)
    void reply.code(statusOf(refusal)).send(errorBodyOf(refusal))
  }
}

/** Only what is the service's own trouble: a caller's mistakes show as the status of a line. */
export function logFailure(request: FastifyRequest, refusal: Refusal): void {
  if (statusOf(refusal) < 500) return
  // A stop that somebody asked for is no trouble.
  if (refusal.code === 'service_stopping') {
    request.log.info({ code: refusal.code }, refusal.message)
    return
  }
  request.log.error({ code: refusal.code, err: refusal.cause ?? refusal }, refusal.message)
}
