import type { Fault } from '../../contract/faults.ts'

/**
 * The service's own values of `error.code`: docs/interface.md, "Errors", shows none. docs/service.md lists
 * them.
 */
export type RefusalCode =
  | 'invalid_request'
  | 'context_too_long'
  | 'unauthorized'
  | 'forbidden'
  | 'feature_disabled'
  | 'not_found'
  | 'context_not_found'
  | 'model_not_found'
  | 'user_not_found'
  | 'method_not_allowed'
  | 'email_taken'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'header_too_large'
  | 'request_timeout'
  | 'rate_limited'
  | 'too_much_at_once'
  | 'internal_error'
  | 'upstream_error'
  | 'upstream_overloaded'
  | 'upstream_timeout'
  | 'upstream_unreachable'
  | 'service_stopping'
  | 'too_busy'
  | 'storage_busy'
  | 'storage_damaged'
  | 'storage_full'
  | 'storage_unavailable'

/** A request that the service answers with an error, for a reason that the caller may know. */
export class Refusal extends Error {
  override name = 'Refusal'

  /** What talks to a model server is a bundle of its own with its own copy of this class: both are one kind. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'Refusal' && 'code' in value
  }

  readonly code: RefusalCode
  readonly details: Record<string, unknown> | undefined
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  readonly retryAfter: number | undefined

  constructor(
    code: RefusalCode,
    message: string,
    options: { details?: Record<string, unknown>; retryAfter?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.details = options.details
    this.retryAfter = options.retryAfter
  }
}

/** More would make the response larger than the request. */
const mostFaults = 100

/** A request whose content is wrong, with the faults found in it, up to 100. */
export function invalidRequest(faults: readonly Fault[]): Refusal {
  const words = faults
    .slice(0, 3)
    .map(({ path, message }) => (path ? `${path} ${message}` : `the body ${message}`))
  return new Refusal('invalid_request', sentence(words, faults.length - words.length), {
    details: { faults: faults.slice(0, mostFaults) },
  })
}

/** Enough of the faults for one line; `details` has more. */
function sentence(words: readonly string[], more: number): string {
  const shown = words.join('; ')
  return more > 0 ? `${shown}; and ${more} more` : shown
}
