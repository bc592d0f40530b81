import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../system/clock.ts'
import { type ApiError, type ApiErrorCode, errorBodyOf, statusOf } from '../../api-error.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { toApiError } from '../../to-api-error.ts'

/** Sends the error response for anything that was thrown while a request was handled. */
export function createErrorHandler(metrics: Metrics | undefined, failures: FailureLog) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const apiError = toApiError(error)
    failures.write(request.log, apiError)
    metrics?.countError(apiError.code)
    // If the connection closed while the body still arrives, it would be reset, and some clients would lose
    // the response: a proxy would report 502. Node reads and discards the rest, until the request timeout.
    if (apiError.code === 'payload_too_large') reply.removeHeader('connection')
    if (apiError.code === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="chatctl"')
    if (apiError.retryAfter !== undefined) reply.header('retry-after', apiError.retryAfter)
    void reply.code(statusOf(apiError)).send(errorBodyOf(apiError))
  }
}

/** How long, in ms, further failures of the same kind are counted and not logged. */
const quietTime = 10_000

/** Logs failures of the service itself. While the database is down, every request has the same one. */
export class FailureLog {
  readonly #clock: Clock
  readonly #lines = new Map<string, { at: number; omitted: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  write(log: Pick<FastifyBaseLogger, 'error' | 'info'>, apiError: ApiError): void {
    // The log line of the request already shows the status of a mistake of the client.
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

/** Whether all requests have the same failure: of the database, the model server, or this process. A bug is always logged. */
const isShared = (code: ApiErrorCode) =>
  code.startsWith('storage_') || code === 'upstream_unreachable' || code === 'too_busy'
