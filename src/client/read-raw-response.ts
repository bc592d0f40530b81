import type { Failure } from '../contract/failure.ts'
import type { FinalResponse } from './deliver.ts'
import { concealFailure, type Redact, redactBytes } from './redaction.ts'
import { type RawResponse, requestIdOf } from './response.ts'

/**
 * The response to a raw request.
 *
 * @param failure what its status means; undefined for 2xx
 */
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
    ...(requestId === undefined ? {} : { requestId }),
    ...(failure === undefined ? {} : { failure: concealFailure(failure, redact) }),
  }
}
