import type { ApiResponse } from '../../client/response/response.ts'
import { type Failure, reasonOf } from '../../contract/failure.ts'
import type { Journal, Step, StepOutcome } from '../journal/journal.ts'
import { affectsEveryRow, type Sending, sendChange } from './send-change.ts'

/** A request of a row. */
export interface StepRequest {
  key: string
  step: Step
  /** Of the user, if it is known. */
  id?: string | undefined
  /** Whether an earlier request of the same create has an unknown outcome. */
  isRetry: boolean
  /** See `Change`. */
  password?: string | undefined
  request(): Promise<ApiResponse<unknown>>
  /** What a response with a 2xx status says. */
  confirm(response: ApiResponse<unknown>): Outcome | Promise<Outcome>
  /** What it says that the service refused the request. @param error in words */
  refuse(failure: Failure, error: string): Outcome | Promise<Outcome>
}

/** What the journal records about a step. */
export interface Outcome {
  did: StepOutcome
  id?: string | undefined
  error?: string | undefined
  /** Default: the step itself. */
  step?: Step
}

/**
 * Sends a request. The journal records its intent before it is sent, and its outcome after it.
 *
 * @returns what a response with a 2xx status says
 * @throws the error that should end the run; the journal has the state of the row
 */
export async function sendStep(
  sending: Sending & { journal: Journal },
  sent: StepRequest,
): Promise<Outcome | undefined> {
  const { journal, health } = sending
  const { key, step, id } = sent
  const record = (outcome: Outcome): void => journal.record({ key, step, id, ...outcome })
  const outcome = await sendChange(sending, {
    recordIntent: () =>
      journal.recordIntent({ key, step, id }).catch((error: unknown) => {
        record(unsent(sent))
        throw error
      }),
    retract: () => record(unsent(sent)),
    request: sent.request,
    password: sent.password,
  })
  if ('ended' in outcome) {
    record({ did: 'unknown', error: 'the run ended before a response arrived' })
    throw outcome.ended
  }
  try {
    const known =
      'failure' in outcome ? await outcomeOf(outcome.failure, sent) : await sent.confirm(outcome.response)
    record(known)
    if ('response' in outcome) return known
  } catch (error) {
    record({ did: 'unknown', error: 'the response could not be stored' })
    throw error
  }
  health.failed(outcome.failure)
  return undefined
}

/** The request had no effect, but the earlier create of a retried row may have had one. */
function unsent({ isRetry }: StepRequest, error?: string): Outcome {
  if (!isRetry) return { did: 'unsent', error }
  return {
    did: 'unknown',
    error: error ?? 'not sent again yet; the outcome of the earlier request is unknown',
  }
}

/** The outcome of a step whose request failed. */
function outcomeOf(failure: Failure, sent: StepRequest): Outcome | Promise<Outcome> {
  const error = describe(failure)
  if (failure.isOutcomeUnknown) return { did: 'unknown', error }
  // The failure has nothing to do with the row.
  return affectsEveryRow(failure) ? unsent(sent, failure.message) : sent.refuse(failure, error)
}

/** With the status, because the message alone may not show whether the row or the service is at fault. */
function describe(failure: Failure): string {
  const { status, isOutcomeUnknown } = failure
  const message = isOutcomeUnknown ? reasonOf(failure) : failure.message
  return status === undefined ? message : `${status}: ${message}`
}
