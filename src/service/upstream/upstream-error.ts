import type { Dispatcher } from 'undici'
import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'

const timeoutErrors = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** There was no connection: nothing was asked, and asking again costs nothing. */
const connectionErrors = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/**
 * What a caller is told of a failure between the service and its model server; the signal's reason
 * where it was aborted. Only the log, through the cause, has the server's address.
 */
export function upstreamError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ApiError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code && timeoutErrors.has(code)) {
    return new ApiError('upstream_timeout', `The model server did not respond in time`, { cause: error })
  }
  if (code && connectionErrors.has(code)) {
    return new ApiError('upstream_unreachable', `Cannot reach the model server (${code})`, {
      cause: error,
    })
  }
  const why = code ? ` (${code})` : ''
  return new ApiError('upstream_error', `The model server interrupted the response${why}`, { cause: error })
}

export const invalidResponse = (what: string, cause?: unknown): ApiError =>
  new ApiError('upstream_error', `The model server ${what}`, { cause })

/** An answer of a model server whose status is not 2xx. */
export interface FailedResponse {
  status: number
  /** How its body begins. */
  text: string
  /** Seconds that the server asks to wait for; undefined where it asks for nothing. */
  retryAfter: number | undefined
}

/** The most that is read of an error's body, in characters, and for how long, in ms. */
const maxErrorBody = 64 * 1024
const maxErrorTime = 2_000

/** Reading the body to its end frees the connection; a long or a slow one is dropped. */
export async function readFailedResponse(
  response: Dispatcher.ResponseData,
  clock: Clock,
): Promise<FailedResponse> {
  const { statusCode: status, headers, body } = response
  let text = ''
  const timer = setTimeout(() => body.destroy(), maxErrorTime)
  try {
    for await (const chunk of body) {
      text += String(chunk)
      if (text.length >= maxErrorBody) break
    }
  } catch {
    // The status alone says that the request failed.
  } finally {
    clearTimeout(timer)
  }
  return { status, text, retryAfter: readRetryAfter(headers['retry-after'], clock) }
}

/**
 * What a caller is told of it. A model server's 401, 403 and 429 are between it and this service:
 * passed on as they are they would say that the caller's own key is wrong, or its quota used up.
 * @param secrets as `UpstreamAddress` has it
 */
export function statusError(
  { status, text, retryAfter }: FailedResponse,
  model: string | undefined,
  secrets: readonly string[],
): ApiError {
  if (status === 404 && model !== undefined) {
    return new ApiError('model_not_found', `No model ${model}`)
  }
  if (status === 401 || status === 403) {
    // Servers quote the key that they refuse, so their words stay here.
    return new ApiError(
      'upstream_error',
      `The model server rejects the credentials of this service (${status})`,
      {
        details: { upstream_status: status },
      },
    )
  }
  const message = messageInText(text, secrets)
  const details = { upstream_status: status, ...(message !== undefined && { upstream_message: message }) }
  if (isTooLong(status, text)) {
    return new ApiError(
      'context_too_long',
      'The conversation is longer than the context window of the model',
      { details },
    )
  }
  // Without a model it was a request for the list of models, in which the caller has no part.
  if (model !== undefined && (status === 400 || status === 422)) {
    const why = message === undefined ? '' : `: ${message}`
    return new ApiError('invalid_request', `The model server refused the request${why}`, { details })
  }
  if (status === 429 || status === 503) {
    return new ApiError('upstream_overloaded', 'The model server is overloaded; try again later', {
      details,
      retryAfter,
    })
  }
  return new ApiError('upstream_error', `The model server returned ${status}`, { details })
}

/**
 * `context_length_exceeded` (OpenAI), "maximum context length" (vLLM), `exceed_context_size_error`
 * (llama.cpp), "greater than the context length" (LM Studio), "prompt is too long" (Anthropic).
 */
const contextTooLong =
  /context_length_exceeded|exceed_context_size|(maximum|than the|exceeds?( the)?( available| model's)?) context (length|size|window)|prompt is too long/i

const isTooLong = (status: number, text: string) =>
  (status === 400 || status === 413 || status === 422) && contextTooLong.test(text)

/** RFC 9110 section 10.2.3; more than an hour is not believed. */
function readRetryAfter(header: string | string[] | undefined, clock: Clock): number | undefined {
  const text = String(header ?? '').trim()
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - clock.now()) / 1000)
  return seconds >= 0 ? Math.min(seconds, 3600) : undefined
}

/** The most that a caller is shown of a model server's own words, in characters. */
const maxMessageLength = 1000

/**
 * The words of a model server's error: `{"error":{"message"}}` as OpenAI has it, `{"error":"…"}` as
 * Ollama, `{"message"}`, `{"detail"}` or `{"detail":[{"msg"}]}` as servers made with FastAPI.
 * Undefined for anything else.
 * @param secrets as `UpstreamAddress` has it
 */
export function messageInBody(body: unknown, secrets: readonly string[]): string | undefined {
  const { error, message, detail } = Object(body)
  const first: unknown = Array.isArray(detail) ? Object(detail[0]).msg : undefined
  const places = [Object(error).message, error, message, detail, first]
  const found = places.find((words) => typeof words === 'string')
  return found === undefined ? undefined : redact(found, secrets)
}

function redact(words: string, secrets: readonly string[]): string {
  // Before it is cut: half a key is not to be found any more.
  return secrets.reduce((text, secret) => text.replaceAll(secret, '…'), words).slice(0, maxMessageLength)
}

/** The same of a text that may not be JSON: bare words count, a web page does not. */
export function messageInText(text: string, secrets: readonly string[]): string | undefined {
  try {
    return messageInBody(JSON.parse(text), secrets)
  } catch {
    const words = text.trim()
    return words === '' || /^[<{[]/.test(words) ? undefined : redact(words, secrets)
  }
}
