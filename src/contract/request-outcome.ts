import type { FailureKind } from './failure.ts'

/** What is known of a request after its last attempt. */
export interface RequestOutcome {
  /**
   * `done`: the service confirmed it. `refused`: it certainly had no effect, because the service rejected it or
   * was not reached. `unknown`: it may have taken effect.
   */
  outcome: 'done' | 'refused' | 'unknown'
  /** HTTP status of the last response, if there was one. */
  status?: number
  /** The service's own ID for the request, if it sent one. */
  requestId?: string
  /** ID of the user that the request created, if the response names it. */
  createdId?: string
  /** Why the request failed; `interrupted` if it was aborted. */
  error?: FailureKind | 'interrupted'
}
