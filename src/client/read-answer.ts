import * as z from 'zod/mini'
import type { Endpoint } from '../contract/endpoints.ts'
import { isRecord } from '../contract/exact-json.ts'
import { type FailedRequest, Failure, type FailureKind, type FailureOptions } from '../contract/failure.ts'
import { checkShape, type Fault, faultsOf } from '../contract/faults.ts'
import { type Answer, codingOf, requestIdOf } from './answer.ts'
import { readComplaint, webPageAdvice } from './error-answer.ts'
import { isDeeperThan, readJson } from './json.ts'
import { mayChange } from './network-failure.ts'

/** Levels of an answer. JSON can be read at any depth, but whoever checks or shows it recurses. */
const deepest = 1000

interface Answered {
  status: number
  headers: Record<string, string>
  bytes: Uint8Array
}

/**
 * Reads a 2xx answer of a documented endpoint. A 2xx means that it happened: where the document
 * shows no body, nothing in one can make it a failure but the service's own word.
 *
 * @throws Failure `unusable_answer` where the document shows an answer and this is none of use;
 *   `rejected` where the body says so itself (`success: false`, or the error body)
 */
export function readAnswer(endpoint: Endpoint, answered: Answered, request: FailedRequest): Answer<unknown> {
  const { status, headers, bytes } = answered
  const requestId = requestIdOf(headers)
  const about = requestId === undefined ? request : { ...request, id: requestId }
  const answer: Answer<unknown> = { body: undefined, status, headers, faults: [] }
  if (headers['location'] !== undefined) answer.location = headers['location']
  if (requestId !== undefined) answer.requestId = requestId
  const fail = (
    kind: FailureKind,
    message: string,
    more: Pick<FailureOptions, 'code' | 'details' | 'inDoubt' | 'advice'> = {},
  ) => new Failure(kind, message, { status, request: about, ...more })

  const body = bytes.length === 0 || codingOf(headers) !== undefined ? undefined : readJson(bytes)
  const denial = readDenial(endpoint, body)
  if (denial) {
    const words = denial.message ?? 'the service says that it did not succeed'
    // What it made all the same, it names.
    const inDoubt = mayChange(request) && (namesId(body) || answer.location !== undefined)
    throw fail('rejected', words, { ...denial, inDoubt })
  }
  const tooDeep = isDeeperThan(deepest, body)
  const isUseless = endpoint.answer !== undefined && !isRecord(body)
  if (body === undefined || tooDeep || isUseless) {
    const unread = tooDeep ? 'is nested too deep to be read' : `is not JSON${typeOf(headers)}`
    const noObject = body === undefined || tooDeep ? unread : 'is not a JSON object'
    const what = bytes.length === 0 ? 'has no body' : noObject
    // Of a change whose answer nobody needs, the status alone says that it is done.
    if (endpoint.method === 'GET' || endpoint.needs) {
      const advice = webPageAdvice(request, headers, bytes)
      throw fail('unusable_answer', `the service's answer ${what}`, { advice })
    }
    if (bytes.length > 0)
      answer.warning = `the service's answer ${what}; its status ${status} says that it is done`
    return answer
  }

  const useless = uselessness(endpoint, body)
  if (useless !== undefined) throw fail('unusable_answer', `the service's answer ${useless}`)
  answer.body = body
  const shape = endpoint.answer
  if (shape) deferFaults(answer, () => check(shape, body))
  return answer
}

/** Whoever reads a thousand pages of history need not look at every field of every message. */
function deferFaults(answer: Answer<unknown>, find: () => Fault[]): void {
  let found: Fault[] | undefined
  Object.defineProperty(answer, 'faults', {
    get: () => {
      found ??= find()
      return found
    },
    enumerable: true,
  })
}

/** A failure in a 2xx: `success: false`, or the documented error body in the place of an answer. */
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

/** Why an answer is of no use to anybody; undefined where it is of some. */
function uselessness({ needs = {} }: Endpoint, body: unknown): string | undefined {
  const fields = isRecord(body) ? body : {}
  const missing = Object.keys(needs).filter((name) => fields[name] === undefined || fields[name] === null)
  if (missing.length > 0) return `lacks ${missing.join(', ')}`
  // No need is of a number, and to look for exact ones in every message takes time.
  const faults = Object.entries(needs).flatMap(([name, need]) =>
    faultsIn(z.safeParse(need, fields[name])).map(({ message }) => `${name} ${message}`),
  )
  return faults.length > 0 ? `is of no use: ${faults.join('; ')}` : undefined
}

function check(schema: z.ZodMiniType, body: unknown): Fault[] {
  return faultsIn(checkShape(schema, body))
}

function faultsIn(result: z.core.util.SafeParseResult<unknown>): Fault[] {
  return result.success ? [] : faultsOf(result.error)
}

function typeOf(headers: Record<string, string>): string {
  const type = codingOf(headers) ?? headers['content-type']
  return type ? ` (${type})` : ''
}
