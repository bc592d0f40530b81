import type { Advice } from '../contract/advice.ts'
import { isNumber, isRecord } from '../contract/exact-json.ts'
import {
  type FailedRequest,
  Failure,
  type FailureKind,
  type FailureOptions,
  type Help,
  unknownOutcome,
} from '../contract/failure.ts'
import { cutDeeperThan, readJson } from './json.ts'
import { doubtHint } from './network-failure.ts'
import { requestIdOf } from './response.ts'

interface Answered {
  status: number
  statusText: string
  headers: Record<string, string>
  bytes: Uint8Array
}

/** Levels of an error's details. Code that shows them recurses, and a hostile service can nest 30,000. */
const deepestDetails = 100

/** What a service says in an error, whatever shape it has. */
export interface Complaint {
  code?: string
  message?: string
  details?: unknown
}

/** The kind of failure that a status means (docs/interface.md, "Errors"). */
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

/** The code of a service that could not connect to its model server: nothing was asked of that. */
const unreachedUpstream = 'upstream_unreachable'
const upstreamHint = 'The service responds, but cannot reach its model server. Start the model server.'

/**
 * The failure that a response outside 2xx means.
 * @param asked milliseconds that the service wants us to wait, where that was too long
 */
export function responseFailure(
  answered: Answered,
  request: FailedRequest,
  asked: number | undefined,
  now: number,
): Failure {
  const { status, headers } = answered
  const id = requestIdOf(headers)
  const complaint = readComplaint(readJson(answered.bytes))
  const options: FailureOptions = { status, request: id === undefined ? request : { ...request, id } }
  if (complaint.code !== undefined) options.code = complaint.code
  if (complaint.details !== undefined) options.details = complaint.details
  const wasHeld = complaint.code === unreachedUpstream
  const doubt = doubtHint(request, mayHaveDone(status) && !wasHeld)
  options.inDoubt = doubt !== undefined
  if (asked !== undefined) Object.assign(options, waitHelp(asked, now))
  else if (doubt !== undefined) options.hint = doubt
  else if (wasHeld) options.hint = upstreamHint
  else if (status < 500 && status !== 401) options.advice = webPageAdvice(headers, answered.bytes)
  const failure = new Failure(kindOfStatus(status), complaint.message ?? describeResponse(answered), options)
  // A redirect from a change, which is not followed, does not say whether the change was made.
  return failure.kind === 'rejected' && doubt !== undefined ? unknownOutcome(failure, doubt) : failure
}

/**
 * Whether a service may have done its work before it gave that response. It or a gateway before it may
 * have fallen over then; and a 303, as many send a 302 for it, leads to what came of it (RFC 9110
 * section 15.4.4).
 */
export function mayHaveDone(status: number): boolean {
  return status >= 500 || status === 302 || status === 303
}

/** Nobody plans further ahead, and beyond the year 275760 there is no date to show. */
const longestPlan = 365 * 24 * 3600 * 1000

function waitHelp(asked: number, now: number): Help {
  if (asked > longestPlan) return { hint: 'The service asks to wait for more than a year.' }
  return { advice: [{ code: 'longer_wait', ms: asked, until: new Date(now + asked).toISOString() }] }
}

/**
 * Reads `{error: {code, message, details}}` (docs/interface.md, "Errors") and what gateways send
 * instead: `error` as a string, `message` and `code` at the top, or `detail` (RFC 9457 section 3.1.4).
 */
export function readComplaint(body: unknown): Complaint {
  if (!isRecord(body)) return {}
  const error = body['error']
  const inner = isRecord(error) ? error : {}
  const outerMessage =
    textOf(body['message']) ?? textOf(body['error_description']) ?? messageOfDetail(body['detail'])
  const message = textOf(inner['message']) ?? outerMessage ?? textOf(error)
  const bareCode = outerMessage === undefined ? undefined : textOf(error)
  const code = textOf(inner['code']) ?? textOf(body['code']) ?? bareCode
  const details = inner['details'] ?? body['details']
  return {
    ...(code === undefined ? {} : { code }),
    ...(message === undefined ? {} : { message }),
    ...(details === undefined || details === null ? {} : { details: cutDeeperThan(deepestDetails, details) }),
  }
}

/** Servers made with FastAPI have a list of faults in the place of the text. */
function messageOfDetail(detail: unknown): string | undefined {
  const [first] = Array.isArray(detail) ? detail : []
  return textOf(isRecord(first) ? first['msg'] : detail)
}

function describeResponse({ status, statusText, headers, bytes }: Answered): string {
  const said = `HTTP ${status}${statusText ? ` ${statusText}` : ''}`
  if (!/^text\/plain\b/i.test(headers['content-type'] ?? '')) return said
  const excerpt = new TextDecoder()
    .decode(bytes)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (excerpt === '') return said
  return `${said}: ${excerpt.length > 200 ? `${excerpt.slice(0, 200)}…` : excerpt}`
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  return isNumber(value) ? String(value) : undefined
}

/** Advice for a web page in place of a response, as from a captive portal, a sign-in page, or another path. */
export function webPageAdvice(headers: Record<string, string>, bytes: Uint8Array): Advice[] {
  return isWebPage(headers, bytes) ? [{ code: 'web_page' }] : []
}

function isWebPage(headers: Record<string, string>, bytes: Uint8Array): boolean {
  if (/^(text\/html|application\/xhtml\+xml)\b/i.test(headers['content-type'] ?? '')) return true
  return /^\s*(<!doctype html|<html)\b/i.test(new TextDecoder().decode(bytes.subarray(0, 200)))
}
