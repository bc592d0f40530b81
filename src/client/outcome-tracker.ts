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

/**
 * Follows the attempts of one request, because an attempt before the last one may have taken effect. Reports the
 * outcome once: also when the request is aborted, so that a run that a signal ends knows what it has changed.
 */
export class OutcomeTracker {
  readonly #request: OutgoingRequest
  readonly #report: (outcome: RequestOutcome) => void
  /** Where the request was last sent. */
  #url: string | undefined
  /** Whether the current attempt was sent, and may have taken effect. */
  #isOpen = false
  /** Whether an earlier attempt may have taken effect. */
  #mayBeDone = false

  constructor(request: OutgoingRequest, report: (outcome: RequestOutcome) => void) {
    this.#request = request
    this.#report = report
  }

  follow(event: ClientEvent): void {
    if (event.type === 'sent') {
      this.#isOpen = true
      this.#url = event.url
    } else if (event.type === 'response') this.#isOpen = event.status < 300 || mayHaveDone(event.status)
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
    const { status, headers } = response
    const requestId = redact(requestIdOf(headers))
    this.#report({ url: this.#url, status, requestId, ...this.#ofResponse(response, body, redact) })
  }

  /** The request failed, or was aborted. */
  failed(error: unknown): void {
    const isFailure = error instanceof Failure
    const isUnknown = this.#mayBeDone || (isFailure ? error.isOutcomeUnknown : this.#isOpen)
    this.#report({
      outcome: isUnknown ? 'unknown' : 'refused',
      url: this.#url,
      status: isFailure ? error.status : undefined,
      requestId: isFailure ? error.request?.id : undefined,
      error: isFailure ? error.kind : 'interrupted',
    })
  }

  #ofResponse(
    response: FinalResponse,
    body: unknown,
    redact: Redact,
  ): Pick<RequestOutcome, 'outcome' | 'error' | 'createdId'> {
    const { status, headers } = response
    if (status < 200 || status > 299) {
      const outcome = this.#mayBeDone || mayHaveDone(status) ? 'unknown' : 'refused'
      return { outcome, error: kindOfStatus(status) }
    }
    // A stream has shown its own format.
    if (body === undefined && response.rest === undefined && confirmsNothing(response))
      return { outcome: 'unknown', error: 'invalid_response' }
    const created = idOfCreated({ body, status, headers, faults: [], location: headers['location'] })
    // A failure in a 2xx response, as in `readResponse`.
    if (isRecord(body) && body['success'] === false)
      return { outcome: this.#mayBeDone || created !== undefined ? 'unknown' : 'refused', error: 'rejected' }
    const { method, path } = endpoints.createUser
    const isCreate = this.#request.method === method && this.#request.path.split('?', 1)[0] === path
    return { outcome: 'done', createdId: isCreate ? redact(created) : undefined }
  }
}
