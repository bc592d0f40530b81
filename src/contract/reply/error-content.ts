import { isNumber, isRecord } from '../notation/exact-json.ts'

/** The content of an error response, in any of the known shapes. */
export interface ErrorContent {
  code?: string | undefined
  message?: string | undefined
  details?: unknown
}

/**
 * Reads `{error: {code, message, details}}` (docs/interface.md, "Errors") and what gateways send
 * instead: `error` as a string, `message` and `code` at the top, `detail` (RFC 9457 section 3.1.4), or a list of one of
 * these (Gemini).
 */
export function readErrorContent(given: unknown): ErrorContent {
  const body = Array.isArray(given) ? given[0] : given
  if (!isRecord(body)) return {}
  const error = body['error']
  const inner = isRecord(error) ? error : {}
  // Mistral sends the faults in a message.
  const outerMessage =
    textOf(body['message']) ??
    messageOfDetail(body['message']) ??
    textOf(body['error_description']) ??
    messageOfDetail(body)
  const message = textOf(inner['message']) ?? outerMessage ?? textOf(error)
  const bareCode = outerMessage === undefined ? undefined : textOf(error)
  const code = textOf(inner['code']) ?? textOf(body['code']) ?? bareCode
  const details = inner['details'] ?? body['details']
  return { code, message, details: details ?? undefined }
}

/** FastAPI servers send a list of faults instead of a text. */
function messageOfDetail(body: unknown): string | undefined {
  const detail = isRecord(body) ? body['detail'] : undefined
  const [first] = Array.isArray(detail) ? detail : []
  return textOf(isRecord(first) ? first['msg'] : detail)
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  return isNumber(value) ? String(value) : undefined
}
