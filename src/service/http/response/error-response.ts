import { type ApiError, errorBodyOf, statusOf } from '../../api-error.ts'
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

/** Logs a failure of the service itself. The log line of the request already shows the status of a mistake of the client. */
export function logFailure(log: FailureSink | undefined, apiError: ApiError): void {
  if (log === undefined || statusOf(apiError) < 500) return
  const { code, message, cause } = apiError
  if (code === 'service_stopping') log.info({ code }, message)
  else log.error({ code, err: cause ?? apiError }, message)
}
