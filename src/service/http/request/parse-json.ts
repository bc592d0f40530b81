import { parse } from 'secure-json-parse'
import { mayHoldExactNumbers, parseJson } from '../../../contract/notation/exact-json.ts'
import { ApiError, invalidRequest } from '../../api-error.ts'
import type { BodyRules, ServiceRequest } from '../service-request.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Whether a request has a body. Its length may be unknown. */
export const hasBody = ({ headers }: ServiceRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Parameters may follow (RFC 9110 section 8.3.1). */
const json = /^\s*application\/json\s*(;|$)/i

/** @throws ApiError `unsupported_media_type` for a body that is not JSON, or not UTF-8 (RFC 8259 section 8.1) */
export function requireJson(request: ServiceRequest): void {
  const { 'content-type': type, 'content-encoding': coding } = request.headers
  if (type === undefined && !hasBody(request)) return
  if (!json.test(type ?? '')) {
    throw new ApiError(
      'unsupported_media_type',
      'The request body must be JSON, with Content-Type: application/json',
    )
  }
  if (coding !== undefined && coding !== 'identity') {
    throw new ApiError('unsupported_media_type', `The body must not be compressed (${coding})`)
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new ApiError(
      'unsupported_media_type',
      `The JSON body must be UTF-8, not ${charset} (RFC 8259 section 8.1)`,
    )
  }
}

/**
 * The value of a JSON body. It must be UTF-8, because replacement characters would be stored as if they
 * had been sent. Validation decides whether a body is required.
 * @returns undefined for an empty body
 * @throws ApiError `invalid_request`
 */
export function parseBody(body: Uint8Array, { anyKeys }: BodyRules): unknown {
  if (body.length === 0) return undefined
  const text = attempt(() => utf8.decode(body), 'must be UTF-8')
  // The parser's message quotes the body, which may contain a password that would then be logged.
  const value = attempt(
    () => parse(text, undefined, { protoAction: anyKeys ? 'ignore' : 'error', constructorAction: 'ignore' }),
    'must be valid JSON',
  )
  if (!mayHoldExactNumbers(text)) return value
  return attempt(() => parseJson(text), 'must not contain a number of more than 1,000 characters')
}

function attempt<T>(work: () => T, message: string): T {
  try {
    return work()
  } catch {
    throw invalidRequest([{ path: '', message }])
  }
}
