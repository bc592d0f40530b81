import * as z from 'zod/mini'
import type { Endpoint } from '../contract/endpoints.ts'
import { isRecord } from '../contract/exact-json.ts'
import { type FailedRequest, Failure, type FailureKind, type FailureOptions } from '../contract/failure.ts'
import { checkShape, type Fault, faultsOf } from '../contract/faults.ts'
import { readComplaint, webPageAdvice } from './error-response.ts'
import { isDeeperThan, readJson } from './json.ts'
import { mayChange } from './network-failure.ts'
import { type ApiResponse, codingOf, requestIdOf } from './response.ts'

/** Levels of a response. JSON can be read at any depth, but code that checks or shows it recurses. */
const deepest = 1000

interface Answered {
  status: number
  headers: Record<string, string>
  bytes: Uint8Array
}

/**
 * Reads a 2xx response of a documented endpoint. A 2xx means that it happened: where the document
 * shows no body, nothing in one can make it a failure but the service's own word.
 *
 * @throws Failure `invalid_response` where the document shows a response and this is none of use;
 *   `rejected` where the body says so itself (`success: false`, or the error body)
 */
export function readResponse(
  endpoint: Endpoint,
  answered: Answered,
  request: FailedRequest,
): ApiResponse<unknown> {
  const { status, headers, bytes } = answered
  const requestId = requestIdOf(headers)
  const about = requestId === undefined ? request : { ...request, id: requestId }
  const response: ApiResponse<unknown> = { body: undefined, status, headers, faults: [] }
  if (headers['location'] !== undefined) response.location = headers['location']
  if (requestId !== undefined) response.requestId = requestId
  const fail = (
    kind: FailureKind,
    message: string,
    more: Pick<FailureOptions, 'code' | 'details' | 'inDoubt' | 'advice'> = {},
  ) => new Failure(kind, message, { status, request: about, ...more })

  const body = bytes.length === 0 || codingOf(headers) !== undefined ? undefined : readJson(bytes)
  const denial = readDenial(endpoint, body)
  if (denial) {
    const words = denial.message ?? 'The request failed'
    // What it made all the same, it names.
    const inDoubt = mayChange(request) && (namesId(body) || response.location !== undefined)
    throw fail('rejected', words, { ...denial, inDoubt })
  }
  const tooDeep = isDeeperThan(deepest, body)
  const isUseless = endpoint.response !== undefined && !isRecord(body)
  if (body === undefined || tooDeep || isUseless) {
    const unread = tooDeep ? 'is nested too deeply' : describeUnread(headers)
    const noObject = body === undefined || tooDeep ? unread : 'is not a JSON object'
    const what = bytes.length === 0 ? 'has no body' : noObject
    // Of a change whose response nobody needs, the status alone says that it is done.
    if (endpoint.method === 'GET' || endpoint.needs) {
      const advice = webPageAdvice(headers, bytes)
      throw fail('invalid_response', `The response ${what}`, { advice })
    }
    if (bytes.length > 0) response.warning = `The response ${what}. Its status ${status} confirms the change`
    return response
  }

  const useless = uselessness(endpoint, body)
  if (useless !== undefined) throw fail('invalid_response', `The response ${useless}`)
  response.body = body
  const shape = endpoint.response
  if (shape) deferFaults(response, () => check(shape, body))
  return response
}

/** Whoever reads a thousand pages of history need not look at every field of every message. */
function deferFaults(response: ApiResponse<unknown>, find: () => Fault[]): void {
  let found: Fault[] | undefined
  Object.defineProperty(response, 'faults', {
    get: () => {
      found ??= find()
      return found
    },
    enumerable: true,
  })
}

/** A failure in a 2xx: `success: false`, or the documented error body in the place of a response. */
function readDenial(endpoint: Endpoint, body: unknown): ReturnType<typeof readComplaint> | undefined {
  if (!isRecord(body)) return undefined
  if (body['success'] === false) return readComplaint(body)
  const error = body['error']
  const named = isRecord(error)
    ? typeof error['message'] === 'string'
    : typeof error === 'string' && error !== ''
  const useful = endpoint.needs !== undefined && uselessness(endpoint, body) === undefined
  return named && !useful ? readComplaint(body) : undefined
}

function namesId(body: unknown): boolean {
  const id = isRecord(body) ? body['id'] : undefined
  return id !== undefined && id !== null && id !== ''
}

/** Why a response is of no use to anybody; undefined where it is of some. */
function uselessness({ needs = {} }: Endpoint, body: unknown): string | undefined {
  const fields = isRecord(body) ? body : {}
  const missing = Object.keys(needs).filter((name) => fields[name] === undefined || fields[name] === null)
  if (missing.length > 0) return `does not contain ${missing.map((name) => `"${name}"`).join(', ')}`
  // No need is of a number, and to look for exact ones in every message takes time.
  const faults = Object.entries(needs).flatMap(([name, need]) =>
    faultsIn(z.safeParse(need, fields[name])).map(({ message }) => `${name} ${message}`),
  )
  return faults.length > 0 ? `is invalid: ${faults.join('; ')}` : undefined
}

function check(schema: z.ZodMiniType, body: unknown): Fault[] {
  return faultsIn(checkShape(schema, body))
}

function faultsIn(result: z.core.util.SafeParseResult<unknown>): Fault[] {
  return result.success ? [] : faultsOf(result.error)
}

function describeUnread(headers: Record<string, string>): string {
  const type = codingOf(headers) ?? headers['content-type'] ?? 'application/json'
  return /[/+]json\b/i.test(type) ? 'is not valid JSON' : `is ${type}, not JSON`
}
