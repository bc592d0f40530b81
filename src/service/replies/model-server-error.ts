import type { Dispatcher } from 'undici'
import { networkErrors } from '../../contract/failure.ts'
import { type Clock, describeDuration } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'

/** Maximum time, in ms, for which a model server may send nothing. */
export const modelTimeout = 3_600_000

const timeoutErrors: Record<string, string> = {
  UND_ERR_CONNECT_TIMEOUT: 'did not accept a connection in time',
  UND_ERR_HEADERS_TIMEOUT: `sent nothing for ${describeDuration(modelTimeout)}`,
  UND_ERR_BODY_TIMEOUT: `sent nothing for ${describeDuration(modelTimeout)}`,
}

/** No connection was made, so no request was sent. */
const connectionErrors = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/**
 * The error response for a failure between the service and its model server, or the signal's reason if
 * it was aborted. The address of the server is only in the cause, for the log.
 */
export function modelServerError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ApiError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const late = code && timeoutErrors[code]
  if (late) return new ApiError('model_server_timeout', `The model server ${late}`, { cause: error })
  const why = code ? `: ${networkErrors[code] ?? code}` : ''
  const options = { cause: error, ...(code && { details: { model_server_cause: code } }) }
  if (code && connectionErrors.has(code)) {
    return new ApiError('model_server_unreachable', `Cannot reach the model server${why}`, options)
  }
  return new ApiError('model_server_error', `The model server truncated the response${why}`, options)
}

export const invalidResponse = (what: string, cause?: unknown): ApiError =>
  new ApiError('model_server_error', `The model server ${what}`, { cause })

export const invalidText = () => invalidResponse('sent a response that is not valid UTF-8')

/** A response of a model server with a status other than 2xx. */
export interface FailedResponse {
  status: number
  /** The beginning of its body. */
  text: string
  /** `Retry-After` in seconds; undefined if the response has none. */
  retryAfter: number | undefined
}

/** How much of an error body is read, in characters, and for how long, in ms. */
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
 * The error response for a failed response of the model server. Its 401, 403, and 429 are not passed on:
 * they would tell clients that their own key is invalid or their quota is used up.
 * @param secrets see `ModelServer`
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
    // Servers quote the key that they refuse, so their message is not passed on.
    return new ApiError(
      'model_server_error',
      `The model server rejects the credentials of this service (${status})`,
      {
        details: { model_server_status: status },
      },
    )
  }
  const message = messageInText(text, secrets)
  const details = {
    model_server_status: status,
    ...(message !== undefined && { model_server_message: message }),
  }
  if (isTooLong(status, text)) {
    return new ApiError(
      'context_too_long',
      'The conversation is longer than the context window of the model',
      { details },
    )
  }
  // Without a model, this was a request for the list of models, which contains nothing from the client.
  if (model !== undefined && (status === 400 || status === 422)) {
    const why = message === undefined ? '' : `: ${message}`
    return new ApiError('invalid_request', `The model server rejected the request${why}`, { details })
  }
  if (status === 429 || status === 503) {
    return new ApiError('model_server_overloaded', 'The model server is overloaded; try again later', {
      details,
      retryAfter,
    })
  }
  return new ApiError('model_server_error', `The model server returned ${status}`, { details })
}

/**
 * `context_length_exceeded` (OpenAI), "maximum context length" (vLLM), `exceed_context_size_error`
 * (llama.cpp), "greater than the context length" (LM Studio), "prompt is too long" (Anthropic).
 */
const contextTooLong =
  /context_length_exceeded|exceed_context_size|(maximum|than the|exceeds?( the)?( available| model's)?) context (length|size|window)|prompt is too long/i

const isTooLong = (status: number, text: string) =>
  (status === 400 || status === 413 || status === 422) && contextTooLong.test(text)

/** RFC 9110 section 10.2.3. Limited to one hour. */
function readRetryAfter(header: string | string[] | undefined, clock: Clock): number | undefined {
  const text = String(header ?? '').trim()
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - clock.now()) / 1000)
  return seconds >= 0 ? Math.min(seconds, 3600) : undefined
}

/** Maximum length of a model server's message in an error response, in characters. */
const maxMessageLength = 1000

/**
 * The message of a model server's error: `{"error":{"message"}}` of OpenAI, `{"error":"…"}` of Ollama,
 * `{"message"}`, and `{"detail"}` or `{"detail":[{"msg"}]}` of servers made with FastAPI. Undefined for
 * anything else.
 * @param secrets see `ModelServer`
 */
export function messageInBody(body: unknown, secrets: readonly string[]): string | undefined {
  const { error, message, detail } = Object(body)
  const first: unknown = Array.isArray(detail) ? Object(detail[0]).msg : undefined
  const places = [Object(error).message, error, message, detail, first]
  const found = places.find((words) => typeof words === 'string')
  return found === undefined ? undefined : redact(found, secrets)
}

function redact(words: string, secrets: readonly string[]): string {
  // Before it is shortened: a part of a key would not be found.
  return secrets.reduce((text, secret) => text.replaceAll(secret, '…'), words).slice(0, maxMessageLength)
}

/** The message of an error body that may not be JSON: plain text is a message, a web page is not. */
export function messageInText(text: string, secrets: readonly string[]): string | undefined {
  try {
    return messageInBody(JSON.parse(text), secrets)
  } catch {
    const words = text.trim()
    return words === '' || /^[<{[]/.test(words) ? undefined : redact(words, secrets)
  }
}
