import type { Advice } from '../../contract/advice.ts'
import { type FailedRequest, Failure, type FailureKind, type FailureOptions } from '../../contract/failure.ts'
import { isRecord, readJson } from '../../contract/notation/exact-json.ts'
import { readErrorContent } from '../../contract/reply/error-content.ts'
import { type RawResponse, requestIdOf } from './response.ts'

type ErrorResponse = Pick<RawResponse, 'status' | 'statusText' | 'headers' | 'bytes'>

/** The kind of failure for an HTTP status (docs/interface.md, "Errors"). */
export function kindOfStatus(status: number): FailureKind {
  switch (status) {
    case 401:
      return 'unauthorized'
    case 403:
      return 'forbidden'
    case 404:
      return 'not_found'
    case 409:
      return 'conflict'
    case 429:
      return 'rate_limited'
    default:
      return status >= 500 ? 'server_error' : 'rejected'
  }
}

/** The error code if the service could not connect to its model server. The model got no request. */
const unreachedModelServer = 'model_server_unreachable'
const modelServerHint =
  'The service responds, but cannot reach its model server. Start it, or correct its address.'

/** Whether the details of an error say that the request had no effect, as the embedded service does. */
export function storedNothing(details: unknown): boolean {
  return isRecord(details) && details['stored'] === false
}

/**
 * The failure for a response outside 2xx.
 * @param asked milliseconds that the service asked to wait, if that was too long
 */
export function responseFailure(
  response: ErrorResponse,
  request: FailedRequest,
  asked: number | undefined,
  now: number,
): Failure {
  const { status, headers } = response
  const id = requestIdOf(headers)
  const { message, code, details } = readErrorContent(readJson(response.bytes))
  const options: FailureOptions = { status, request: { ...request, id }, code, details }
  if (asked !== undefined)
    options.advice = [{ code: 'longer_wait', ms: asked, until: new Date(now + asked).toISOString() }]
  else if (code === unreachedModelServer) options.hint = modelServerHint
  else if (status < 500 && status !== 401) options.advice = webPageAdvice(headers, response.bytes)
  return new Failure(kindOfStatus(status), message ?? describeResponse(response), options)
}

/**
 * Whether the service may have made the change before it sent this response outside 2xx. A 5xx may come from a crash
 * or a gateway. A 303, for which many services send 302, points to the result (RFC 9110 section 15.4.4).
 */
export function mayHaveDone({ status, bytes }: Pick<RawResponse, 'status' | 'bytes'>): boolean {
  if (status < 500) return status === 302 || status === 303
  const { code, details } = readErrorContent(readJson(bytes))
  return code !== unreachedModelServer && !storedNothing(details)
}

function describeResponse({ status, statusText, headers, bytes }: ErrorResponse): string {
  const statusLine = `HTTP ${status}${statusText ? ` ${statusText}` : ''}`
  if (!/^text\/plain\b/i.test(headers['content-type'] ?? '')) return statusLine
  const excerpt = new TextDecoder()
    .decode(bytes)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (excerpt === '') return statusLine
  return `${statusLine}: ${excerpt.length > 200 ? `${excerpt.slice(0, 200)}…` : excerpt}`
}

/** Advice if the response is a web page, as from a captive portal, a sign-in page, or a wrong path. */
export function webPageAdvice(headers: Record<string, string>, bytes: Uint8Array): Advice[] {
  return isWebPage(headers, bytes) ? [{ code: 'web_page' }] : []
}

function isWebPage(headers: Record<string, string>, bytes: Uint8Array): boolean {
  if (/^(text\/html|application\/xhtml\+xml)\b/i.test(headers['content-type'] ?? '')) return true
  return /^\s*(<!doctype html|<html)\b/i.test(new TextDecoder().decode(bytes.subarray(0, 200)))
}
