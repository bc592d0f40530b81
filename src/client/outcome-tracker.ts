import { endpoints } from '../contract/endpoints.ts'
import { Failure, type RequestOutcome } from '../contract/failure.ts'
import { isRecord } from '../contract/notation/exact-json.ts'
import type { ClientEvent } from './client-event.ts'
import type { FinalResponse } from './deliver.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import type { Redact } from './redaction.ts'
import { kindOfStatus, mayHaveDone } from './response/error-response.ts'
import { confirmsNothing } from './response/read-response.ts'
import { idOfCreated, requestIdOf } from './response/response.ts'

/** Follows the attempts of one request, because an attempt before the last one may have taken effect. */
export class OutcomeTracker {
  readonly #request: OutgoingRequest
  readonly #report: (outcome: RequestOutcome) => void
  /** Whether the current attempt was sent, and may have taken effect. */
  #isOpen = false
  /** Whether an earlier attempt may have taken effect. */
  #mayBeDone = false

  constructor(request: OutgoingRequest, report: (outcome: RequestOutcome) => void) {
    this.#request = request
    this.#report = report
  }

  follow(event: ClientEvent): void {
    if (event.type === 'sent') this.#isOpen = true
    else if (event.type === 'response') this.#isOpen = event.status < 300 || mayHaveDone(event.status)
    else if (event.type === 'redirect') this.#isOpen = false
    else if (event.type === 'retry') {
      this.#mayBeDone ||= this.#isOpen
      this.#isOpen = false
    }
  }

  /**
   * The request has a response, whatever its status.
   *
   * @param body undefined if it is not JSON, or a stream
   */
  answered(response: FinalResponse, body: unknown, redact: Redact): void {
    this.#report(this.#ofResponse(response, body, redact))
  }

  /** The request failed, or was aborted. */
  failed(error: unknown): void {
    this.#report(this.#ofError(error))
  }

  #ofResponse(response: FinalResponse, body: unknown, redact: Redact): RequestOutcome {
    const { status, headers } = response
    const requestId = requestIdOf(headers)
    const about = { status, ...(requestId !== undefined && { requestId: redact(requestId) }) }
    if (status < 200 || status > 299) {
      const outcome = this.#mayBeDone || mayHaveDone(status) ? 'unknown' : 'refused'
      return { outcome, ...about, error: kindOfStatus(status) }
    }
    // A stream has shown its own format.
    if (body === undefined && response.rest === undefined && confirmsNothing(response))
      return { outcome: 'unknown', ...about, error: 'invalid_response' }
    const location = headers['location']
    const created = idOfCreated({ body, status, headers, faults: [], ...(location && { location }) })
    // A failure in a 2xx response, as in `readResponse`.
    if (isRecord(body) && body['success'] === false) {
      const outcome = this.#mayBeDone || created !== undefined ? 'unknown' : 'refused'
      return { outcome, ...about, error: 'rejected' }
    }
    const { method, path } = endpoints.createUser
    const isCreate = this.#request.method === method && this.#request.path.split('?', 1)[0] === path
    const known = isCreate && created !== undefined && { createdId: redact(created) }
    return { outcome: 'done', ...about, ...known }
  }

  #ofError(error: unknown): RequestOutcome {
    if (!(error instanceof Failure)) {
      return { outcome: this.#mayBeDone || this.#isOpen ? 'unknown' : 'refused', error: 'interrupted' }
    }
    const { status, request, kind } = error
    return {
      outcome: this.#mayBeDone || error.isOutcomeUnknown ? 'unknown' : 'refused',
      ...(status === undefined ? {} : { status }),
      ...(request?.id === undefined ? {} : { requestId: request.id }),
      error: kind,
    }
  }
}
