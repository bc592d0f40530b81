import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { ApiError, errorBodyOf, statusOf } from '../api-error.ts'
import { createId } from '../domain/identifiers.ts'

/** The part of a logger that failures need. */
export interface FailureSink {
  error(details: object, message: string): void
  info(details: object, message: string): void
}

/** A request to the service, independent of how it arrives: over HTTP, or from the process itself. */
export interface ServiceRequest {
  readonly id: string
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Names are lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>
  /** The origin to which the client sent the request. */
  readonly origin: string
  /** Undefined: nothing is logged. */
  readonly log: FailureSink | undefined
  /** The label of the request in the metrics, once it is known. */
  endpoint?: string
  /** The id of the key, once it is known. */
  keyId?: string
  /** The `error.code` of the event that ended the stream, whose status is 200. */
  streamError?: string
  /** Reads the body. @throws ApiError as `refusalOf` */
  readBody(rules: BodyRules): Promise<Uint8Array>
  /** Whether no client waits for the response any more: it was sent, or the client disconnected. */
  readonly isOver: boolean
  /** Whether the whole response was sent. */
  readonly isAnswered: boolean
  /** Calls the listener when the request is over. It is not over yet. */
  onOver(listener: () => void): void
}

/** Names are lower case. */
export type ResponseHeaders = Record<string, string>

export interface ServiceResponse {
  status: number
  headers: ResponseHeaders
  /** Text, or server-sent events. Undefined for a response without a body. */
  body: string | Readable | undefined
}

/** A body that is JSON already. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export function jsonResponse(status: number, headers: ResponseHeaders, body: unknown): ServiceResponse {
  headers['content-type'] = 'application/json; charset=utf-8'
  return { status, headers, body: body instanceof JsonText ? body.text : JSON.stringify(body) }
}

export const MiB = 1024 * 1024

/** What the bodies of some endpoints may have, in bytes: parsing one must not block the event loop for long. */
export interface BodyRules {
  max: number
  /** Of all that are being received. */
  maxReceiving: number
  receiving: number
  /** Whether a key may be `__proto__`. */
  anyKeys: boolean
}

/** Why a body of this length is not received. */
export function refusalOf(length: number, { max, receiving, maxReceiving }: BodyRules): ApiError | undefined {
  if (length > max) {
    const limit = max % MiB === 0 ? `${max / MiB} MiB` : `${max} bytes`
    return new ApiError('payload_too_large', `The request body is larger than ${limit}`)
  }
  if (receiving <= maxReceiving) return undefined
  const words = 'The service is receiving too many large requests; try again later'
  return new ApiError('service_overloaded', words, { retryAfter: 1, details: { stored: false } })
}

/** Characters that are safe in a header, a log line, and a database. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** The client's `x-request-id`, so that the logs of both use the same id, or a new one. */
export function requestIdFor(headers: Readonly<IncomingHttpHeaders>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && requestIdPattern.test(given) ? given : createId('req')
}

/** The error response, with the headers that were set so far. */
export function errorResponse(
  apiError: ApiError,
  headers: ResponseHeaders,
  body: object = errorBodyOf(apiError),
  status = statusOf(apiError),
): ServiceResponse {
  if (apiError.code === 'unauthorized') headers['www-authenticate'] = 'Bearer realm="chatctl"'
  if (apiError.retryAfter !== undefined) headers['retry-after'] = String(apiError.retryAfter)
  return jsonResponse(status, headers, body)
}

/** Logs a failure of the service itself. The log line of the request already shows the status of a mistake of the client. */
export function logFailure(log: FailureSink | undefined, apiError: ApiError): void {
  if (log === undefined || statusOf(apiError) < 500) return
  const { code, message, cause } = apiError
  if (code === 'service_stopping') log.info({ code }, message)
  else log.error({ code, err: cause ?? apiError }, message)
}
