import type { Fault } from '../contract/faults.ts'
import type { ErrorBody } from '../contract/resources/error-body.ts'

/**
 * The values of `error.code` with their statuses. docs/interface.md, "Errors", defines no values.
 * docs/reference/service.md lists these.
 */
const statuses = {
  invalid_request: 400,
  context_too_long: 400,
  unauthorized: 401,
  forbidden: 403,
  feature_disabled: 403,
  not_found: 404,
  context_not_found: 404,
  model_not_found: 404,
  user_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  email_taken: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  header_too_large: 431,
  internal_error: 500,
  storage_damaged: 500,
  model_server_error: 502,
  model_server_unreachable: 502,
  model_server_overloaded: 503,
  service_overloaded: 503,
  service_stopping: 503,
  storage_busy: 503,
  storage_migrated: 503,
  storage_unavailable: 503,
  issuer_unreachable: 503,
  model_server_timeout: 504,
  storage_full: 507,
}

export type ApiErrorCode = keyof typeof statuses

export const apiErrorCodes = Object.keys(statuses) as readonly ApiErrorCode[]

/** An error that the service sends in its response. The message is for the client. */
export class ApiError extends Error {
  override name = 'ApiError'

  /** The bundle of the model server connection has a separate copy of this class: both are recognized. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'ApiError' && 'code' in value
  }

  readonly code: ApiErrorCode
  readonly details: Record<string, unknown> | undefined
  /** When to try again, in seconds; sent as `Retry-After`. */
  readonly retryAfter: number | undefined

  constructor(
    code: ApiErrorCode,
    message: string,
    options: { details?: Record<string, unknown>; retryAfter?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.details = options.details
    this.retryAfter = options.retryAfter
  }
}

export const statusOf = (apiError: ApiError): number => statuses[apiError.code]

/** docs/interface.md, "Errors". */
export function errorBodyOf({ code, message, details }: ApiError): ErrorBody {
  return { error: { code, message, ...(details && { details }) } }
}

/** More faults would make the response larger than the request. */
const maxFaults = 100

/** The error for an invalid request, with up to 100 of its faults. */
export function invalidRequest(faults: readonly Fault[]): ApiError {
  const words = faults
    .slice(0, 3)
    .map(({ path, message }) => (path ? `${path} ${message}` : `the body ${message}`))
  return new ApiError('invalid_request', sentence(words, faults.length - words.length), {
    details: { faults: faults.slice(0, maxFaults) },
  })
}

/** The first faults in one line; `details` has more. */
function sentence(words: readonly string[], more: number): string {
  const shown = words.join('; ')
  return more > 0 ? `${shown}; and ${more} more` : shown
}

/** The reason of an abort signal when the service stops. */
export const serviceStopping = (): ApiError => new ApiError('service_stopping', 'The service is stopping')
