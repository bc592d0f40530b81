import { readErrorContent } from '../../contract/reply/error-content.ts'
import type { Clock } from '../../system/clock.ts'
import { readStart } from '../../system/network/fetch-text.ts'
import { describeFault, readFault } from '../../system/network/network-fault.ts'
import { Interrupted, type OpenResponse } from '../../system/network/transport.ts'
import { ApiError } from '../api-error.ts'

/** Maximum time, in ms, for which a model server may send nothing. */
export const modelTimeout = 3_600_000

/**
 * The error response for a failure between the service and its model server, or the signal's reason if
 * it was aborted. The address of the server is only in the cause, for the log.
 */
export function modelServerError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (!(error instanceof Interrupted)) return error
  const { stage, cause } = error
  const fault = readFault(cause)
  const known = stage === 'connect' ? 'model_server_unreachable' : 'model_server_error'
  const code = fault.kind === 'timeout' ? 'model_server_timeout' : known
  const details = { model_server_cause: fault.code || undefined, model_server_proxy: fault.proxy?.variable }
  return new ApiError(code, describeFault(fault, stage, 'the model server', false), { cause, details })
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

/** How much of an error body is read, in bytes, and for how long, in ms. */
const maxErrorBody = 64 * 1024
const maxErrorTime = 2_000

/** Reading the body to its end frees the connection; a long or a slow one is dropped. */
export async function readFailedResponse(response: OpenResponse, clock: Clock): Promise<FailedResponse> {
  const { status, headers } = response
  const timer = setTimeout(() => response.cancel(), maxErrorTime)
  const { bytes } = await readStart(response, maxErrorBody).finally(() => clearTimeout(timer))
  return { status, text: bytes.toString(), retryAfter: readRetryAfter(headers['retry-after'], clock) }
}

/**
 * The error response for a failed response of the model server. Its 401, 403, and 429 are not passed on:
 * they would tell clients that their own key is invalid or their quota is used up.
 * @param secrets see `ModelServer`
 * @param forwarder the variable of a proxy that passes on the requests
 */
export function statusError(
  { status, text, retryAfter }: FailedResponse,
  model: string | undefined,
  secrets: readonly string[],
  forwarder?: string,
): ApiError {
  const message = messageInText(text, secrets)
  if (status === 404 && model !== undefined && lacksModel(model, text, message))
    return new ApiError('model_not_found', `No model ${model}`)
  // These statuses may also be those of the proxy itself.
  const proxy = [403, 407, 502, 503, 504].includes(status) ? forwarder : undefined
  const server = proxy ? `The model server, or the proxy of ${proxy},` : 'The model server'
  const known = { model_server_status: status, ...(proxy && { model_server_proxy: proxy }) }
  if (status === 401 || status === 403) {
    // Servers quote the key that they refuse, so their message is not passed on.
    const words = `${server} rejects the credentials of this service (${status})`
    return new ApiError('model_server_error', words, { details: known })
  }
  if (status === 407) {
    const words = `Cannot reach the model server: ${proxy ? `the proxy of ${proxy}` : 'its proxy'} requires credentials (407)`
    return new ApiError('model_server_unreachable', words, { details: known })
  }
  const details = { ...known, ...(message !== undefined && { model_server_message: message }) }
  if (isTooLong(status, text)) {
    const words = 'The conversation is longer than the context window of the model'
    return new ApiError('context_too_long', words, { details })
  }
  // Without a model, this was a request for the list of models, which contains nothing from the client.
  if (model !== undefined && [400, 413, 422].includes(status)) {
    const code = status === 413 ? 'payload_too_large' : 'invalid_request'
    const why = message === undefined ? '' : `: ${message}`
    return new ApiError(code, `The model server rejected the request${why}`, { details })
  }
  if ([429, 503, 529].includes(status)) {
    const words = `${server} is overloaded; try again later`
    return new ApiError('model_server_overloaded', words, { details, retryAfter })
  }
  return new ApiError('model_server_error', `${server} returned ${status}`, { details })
}

/** The error response for an error with status 200, by the status in it. Undefined for one without, and for most 5xx. */
export function reportedError(body: unknown, model: string, secrets: readonly string[]) {
  const [first] = [body].flat()
  const { error, choices } = Object(first)
  const found = Object(choices?.[0]).error ?? error ?? (choices ? undefined : first)
  const { status: given, code, type } = Object(found)
  const text = JSON.stringify({ error: found })
  const isLimited = /rate_?limit|too_?many|resource_?exhausted|insufficient_quota|overload|throttling/i
  const isRejected = isTooLong(400, text) || /invalid_?request|bad_?request/i.test(`${type} ${code}`)
  const named = isLimited.test(`${type} ${code} ${given}`) ? 429 : isRejected ? 400 : 500
  const status = [given, code].map(Number).find((one) => one >= 400 && one < 600) ?? named
  const isKnown = status < 500 || [503, 529].includes(status)
  return isKnown ? statusError({ status, text, retryAfter: undefined }, model, secrets) : undefined
}

/** Whether a 404 says that the model is missing. Otherwise, the path may be wrong. */
const lacksModel = (model: string, text: string, message = '') =>
  /(model|deployment)_?not_?(found|available)/i.test(text) ||
  (/(?<![/\w-])models?(?! server)(?![\w-])/i.test(message) &&
    (message.includes(model) || /not found|not exist|no such|unknown|available/i.test(message)))

/**
 * `context_length_exceeded` (OpenAI), "maximum context length" (vLLM), `exceed_context_size_error`
 * (llama.cpp), "greater than the context length" (LM Studio), "prompt is too long" (Anthropic).
 */
const contextTooLong =
  /context_length_exceeded|exceed_context_size|(maximum|than the|exceeds?( the)?( available| model's)?) context (length|size|window)|prompt is too long/i

const isTooLong = (status: number, text: string) =>
  (status === 400 || status === 413 || status === 422) && contextTooLong.test(text)

/** RFC 9110 section 10.2.3. Limited to one hour. */
function readRetryAfter(header: string | undefined, clock: Clock): number | undefined {
  const text = (header ?? '').trim()
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - clock.now()) / 1000)
  return seconds >= 0 ? Math.min(seconds, 3600) : undefined
}

/** Maximum length of a model server's message in an error response, in characters. */
const maxMessageLength = 1000

/** The message of a model server's error, in any of the known shapes. @param secrets see `ModelServer` */
export function messageInBody(body: unknown, secrets: readonly string[]): string | undefined {
  const { message } = readErrorContent(body)
  return message === undefined ? undefined : redact(message, secrets)
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
