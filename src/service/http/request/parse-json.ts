import { parse } from 'secure-json-parse'
import { mayHoldExactNumbers, parseJson } from '../../../contract/notation/exact-json.ts'
import { ApiError, invalidRequest } from '../../api-error.ts'
import type { ServiceRequest } from '../service-request.ts'

/** The body itself and 100 levels of arrays and objects inside it. A conversation has 4 values per message. */
const bodyLimits = { depth: 101, values: 50_000 }

const faults = {
  depth: 'must not be nested more than 100 levels deep',
  values: 'must not have more than 50,000 values',
}

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
 * had been sent, and must not have a key `__proto__`. Validation decides whether a body is required.
 * @returns undefined for an empty body
 * @throws ApiError `invalid_request`
 */
export function parseBody(body: Uint8Array): unknown {
  if (body.length === 0) return undefined
  const exceeded = exceededLimit(body, bodyLimits)
  if (exceeded) throw invalidRequest([{ path: '', message: faults[exceeded] }])
  const text = attempt(() => utf8.decode(body), 'must be UTF-8')
  // The parser's message quotes the body, which may contain a password that would then be logged.
  const value = attempt(
    () => parse(text, undefined, { protoAction: 'error', constructorAction: 'ignore' }),
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

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openings = new Set([0x5b, 0x7b])
const closings = new Set([0x5d, 0x7d])

/** Maximum depth of nested arrays and objects, and maximum number of all values. */
interface BodyLimits {
  depth: number
  values: number
}

/**
 * The limit that a JSON text exceeds, if any. Reads the bytes, because walking a parsed value would
 * overflow the stack if it is too deep, and block the event loop if it has too many values. For a text
 * that is not JSON, the result is meaningless.
 */
export function exceededLimit(text: Uint8Array, bounds: BodyLimits): keyof BodyLimits | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0
    if (byte === quote) {
      at = endOfString(text, at)
    } else if (byte === comma) {
      values++
    } else if (openings.has(byte)) {
      depth++
      // Counts one value also for an empty array or object, so the count is at most twice the real number.
      values++
      if (depth > bounds.depth) return 'depth'
    } else if (closings.has(byte)) {
      depth--
    }
    if (values > bounds.values) return 'values'
  }
  return undefined
}

/** The position of the closing quote, or the end of a text that has none. */
function endOfString(text: Uint8Array, opening: number): number {
  let at = opening
  for (;;) {
    at = text.indexOf(quote, at + 1)
    if (at === -1) return text.length
    let escapes = 0
    while (text[at - 1 - escapes] === backslash) escapes++
    if (escapes % 2 === 0) return at
  }
}
