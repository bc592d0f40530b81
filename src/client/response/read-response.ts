import * as z from 'zod/mini'
import { type Endpoint, endpoints } from '../../contract/endpoints.ts'
import { type FailedRequest, Failure, type FailureKind, type FailureOptions } from '../../contract/failure.ts'
import { checkShape, type Fault, faultsOf } from '../../contract/faults.ts'
import { isRecord, readJson } from '../../contract/notation/exact-json.ts'
import { faultOfUtf8 } from '../../contract/notation/text.ts'
import { readWholeReply } from '../../contract/reply/assembly.ts'
import { readErrorContent } from '../../contract/reply/error-content.ts'
import { idIn } from '../../contract/resources/user.ts'
import type { FinalResponse } from '../deliver.ts'
import { concealFailure, type Redact, redactBytes } from '../redaction.ts'
import { webPageAdvice } from './error-response.ts'
import { type ApiResponse, type RawResponse, requestIdOf } from './response.ts'

interface SuccessResponse {
  status: number
  headers: Record<string, string>
  bytes: Uint8Array
  request: FailedRequest
}

/**
 * Reads a 2xx response of a documented endpoint. A 2xx status confirms the request. If the interface
 * shows no response body, only an explicit error in the body makes it a failure, or a page of another program.
 * @throws Failure `invalid_response` if the interface shows a response body and this one is unusable;
 *   `rejected` if the body reports a failure (`success: false`, or the error body)
 */
export function readResponse(endpoint: Endpoint, received: SuccessResponse): ApiResponse<unknown> {
  const { status, headers, bytes } = received
  const requestId = requestIdOf(headers)
  const response: ApiResponse<unknown> = { body: undefined, status, headers, faults: [] }
  if (headers['location'] !== undefined) response.location = headers['location']
  if (requestId !== undefined) response.requestId = requestId
  const fail = (
    kind: FailureKind,
    message: string,
    more: Pick<FailureOptions, 'code' | 'details' | 'isOutcomeUnknown' | 'advice'> = {},
  ) => {
    return new Failure(kind, message, { status, request: { ...received.request, id: requestId }, ...more })
  }

  const body = bytes.length === 0 ? undefined : readJson(bytes)
  const reported = readReportedFailure(endpoint, body)
  if (reported) {
    const words = reported.message ?? 'The request failed'
    // If the body names an ID, the service may still have made the change.
    const isOutcomeUnknown = idIn(body) !== undefined || response.location !== undefined
    throw fail('rejected', words, { ...reported, isOutcomeUnknown })
  }
  if (body === undefined || (endpoint.response !== undefined && !isRecord(body))) {
    const unread = body === undefined ? describeUnread(headers) : 'is not a JSON object'
    const what = bytes.length === 0 ? 'has no body' : unread
    // If no caller needs the response of a change, the status is enough.
    if (endpoint.method === 'GET' || endpoint.needs) {
      const advice = webPageAdvice(headers, bytes)
      throw fail('invalid_response', `The response ${what}`, { advice })
    }
    if (body === undefined && confirmsNothing(received)) {
      throw fail('invalid_response', `The response ${what}, so it does not confirm the change`, {
        isOutcomeUnknown: true,
        advice: webPageAdvice(headers, bytes),
      })
    }
    if (bytes.length > 0) response.warning = `The response ${what}. Its status ${status} confirms the change`
    return response
  }

  const reply = endpoint.needs === 'reply' ? readWholeReply(body) : undefined
  if (reply?.failure) {
    const { kind, message, code, details } = reply.failure
    throw fail(kind, message, { code, details, isOutcomeUnknown: kind !== 'invalid_response' })
  }
  const unusable = reply ? undefined : whyUnusable(endpoint, body)
  if (unusable !== undefined) throw fail('invalid_response', `The response ${unusable}`)
  response.body = body
  const invalid = faultOfUtf8(bytes)
  if (invalid !== undefined) response.warning = invalid
  const shape = endpoint.response
  return shape ? deferFaults(response, shape) : response
}

/** A failure in a 2xx response: `success: false`, or the documented error body. */
function readReportedFailure(
  endpoint: Endpoint,
  body: unknown,
): ReturnType<typeof readErrorContent> | undefined {
  if (!isRecord(body)) return undefined
  if (body['success'] === false) return readErrorContent(body)
  const error = body['error']
  const named = isRecord(error)
    ? typeof error['message'] === 'string'
    : typeof error === 'string' && error !== ''
  const useful = endpoint.needs !== undefined && whyUnusable(endpoint, body) === undefined
  return named && !useful ? readErrorContent(body) : undefined
}

/** Why a response is unusable. Undefined for a usable one. */
function whyUnusable({ needs = {} }: Endpoint, body: unknown): string | undefined {
  if (needs === 'reply') return readWholeReply(body).text === '' ? 'contains no reply' : undefined
  const fields = isRecord(body) ? body : {}
  const missing = Object.keys(needs).filter((name) => fields[name] === undefined || fields[name] === null)
  if (missing.length > 0) return `does not contain ${missing.map((name) => `"${name}"`).join(', ')}`
  // No required field is a number, so the slow search for exact numbers is skipped.
  const faults = Object.entries(needs).flatMap(([name, need]) => {
    const { error } = z.safeParse(need, fields[name])
    return error ? faultsOf(error).map(({ message }) => `${name} ${message}`) : []
  })
  return faults.length > 0 ? `is invalid: ${faults.join('; ')}` : undefined
}

/** Whether a body that is not JSON comes from another program, such as a sign-in page or a gateway. */
function confirmsNothing({ headers, bytes }: Pick<SuccessResponse, 'headers' | 'bytes'>): boolean {
  const type = headers['content-type']
  return bytes.length > 0 && type !== undefined && !jsonType.test(type)
}

const jsonType = /[/+]json\b/i

function describeUnread(headers: Record<string, string>): string {
  const type = headers['content-type'] ?? 'application/json'
  return jsonType.test(type) ? 'is not valid JSON' : `is ${type}, not JSON`
}

export interface Confirmation {
  response?: ApiResponse<unknown>
  failure?: Failure
}

/** Whether a 2xx response confirms a raw request, which is read as a change whose response the interface does not show. */
export function readConfirmation(received: SuccessResponse): Confirmation {
  try {
    return { response: readResponse(endpoints.createUser, received) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { status, headers, bytes } = received
    const body = readJson(bytes)
    // A field `error` may mean anything.
    const isFailure = error.kind !== 'rejected' || (isRecord(body) && body['success'] === false)
    return isFailure ? { failure: error } : { response: { body, status, headers, faults: [] } }
  }
}

/** The response to a raw request. @param failure what its status means; undefined for 2xx */
export function readRawResponse(
  received: FinalResponse,
  failure: Failure | undefined,
  redact: Redact,
): RawResponse {
  const { status, statusText, cut } = received
  const headers = redact(received.headers)
  const requestId = requestIdOf(headers)
  const bytes = failure ? redactBytes(received.bytes, redact) : received.bytes
  return {
    status,
    statusText,
    headers,
    bytes,
    text: new TextDecoder().decode(bytes),
    cut,
    requestId,
    failure: failure && concealFailure(failure, redact),
  }
}

/** Finds the faults of a response when they are first read, because checking a thousand pages of history is slow. */
function deferFaults(response: ApiResponse<unknown>, shape: z.ZodMiniType): ApiResponse<unknown> {
  return Object.defineProperties(response, { [check]: { value: { shape } }, faults: faultsProperty })
}

/** The property for what is checked, which is not enumerable. */
const check = Symbol('check')

interface Deferred extends ApiResponse<unknown> {
  readonly [check]: { shape: z.ZodMiniType; faults?: Fault[] }
}

/**
 * All responses have the same accessor. V8 keeps accessors in its old generation: one for each response would keep
 * the body until the next full collection.
 */
const faultsProperty: PropertyDescriptor & ThisType<Deferred> = {
  get() {
    const checked = this[check]
    if (!checked.faults) {
      const result = checkShape(checked.shape, this.body)
      checked.faults = result.success ? [] : faultsOf(result.error)
    }
    return checked.faults
  },
  enumerable: true,
  configurable: true,
}
