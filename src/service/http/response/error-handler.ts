import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../system/clock.ts'
import { type ApiError, type ApiErrorCode, errorBodyOf, statusOf } from '../../api-error.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { toApiError } from '../../to-api-error.ts'

/** Answers whatever was thrown while a request was answered. */
export function createErrorHandler(metrics: Metrics | undefined, failures: FailureLog) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const apiError = toApiError(error)
    failures.write(request.log, apiError)
    metrics?.countError(apiError.code)
    // Closed now, with a body on the way, the connection would be reset and the answer lost to some: a
    // proxy says 502 then. Node reads on and forgets, for as long as a request may take.
    if (apiError.code === 'payload_too_large') reply.removeHeader('connection')
    if (apiError.code === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="chatctl"')
    if (apiError.retryAfter !== undefined) reply.header('retry-after', apiError.retryAfter)
    void reply.code(statusOf(apiError)).send(errorBodyOf(apiError))
  }
}

/** How long, in ms, further failures of the same kind are only counted. */
const quietTime = 10_000

/** Logs the failures that are the service's own. While the database is down, every request has the same one. */
export class FailureLog {
  readonly #clock: Clock
  readonly #lines = new Map<string, { at: number; omitted: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  write(log: Pick<FastifyBaseLogger, 'error' | 'info'>, apiError: ApiError): void {
    // The status in the line of a request shows a mistake of its caller.
    if (statusOf(apiError) < 500) return
    const { code, message } = apiError
    if (code === 'service_stopping') {
      log.info({ code }, message)
      return
    }
    const line = this.#lines.get(code)
    if (line && isShared(code) && this.#clock.monotonic() - line.at < quietTime) {
      line.omitted += 1
      return
    }
    this.#lines.set(code, { at: this.#clock.monotonic(), omitted: 0 })
    const omitted = line?.omitted ? { omitted: line.omitted } : {}
    log.error({ code, ...omitted, err: apiError.cause ?? apiError }, message)
  }
}

/** Failures of what all requests share: the database, the model server, and this process. A bug is always logged. */
const isShared = (code: ApiErrorCode) =>
  code.startsWith('storage_') || code === 'upstream_unreachable' || code === 'too_busy'
