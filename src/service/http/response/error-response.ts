import type { Clock } from '../../../system/clock.ts'
import { type ApiError, type ApiErrorCode, errorBodyOf, statusOf } from '../../api-error.ts'
import {
  type FailureSink,
  jsonResponse,
  type ResponseHeaders,
  type ServiceResponse,
} from '../service-request.ts'

/** The error response, with the headers that were set so far. */
export function errorResponse(apiError: ApiError, headers: ResponseHeaders): ServiceResponse {
  if (apiError.code === 'unauthorized') headers['www-authenticate'] = 'Bearer realm="chatctl"'
  if (apiError.retryAfter !== undefined) headers['retry-after'] = String(apiError.retryAfter)
  return jsonResponse(statusOf(apiError), headers, errorBodyOf(apiError))
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

  write(log: FailureSink | undefined, apiError: ApiError): void {
    // The log line of the request already shows the status of a mistake of the client.
    if (log === undefined || statusOf(apiError) < 500) return
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

/** Whether many requests have the same failure: of the database, another server, or this process. A bug is always logged. */
const isShared = (code: ApiErrorCode) =>
  code.startsWith('storage_') || code.endsWith('_unreachable') || code === 'too_busy'
