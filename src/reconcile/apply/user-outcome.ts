import type { Mismatch } from '../../contract/contradictions.ts'
import type { Failure } from '../../contract/failure.ts'

/**
 * What became of a user.
 *
 * - `created`, `changed`: done, and read back where that is possible
 * - `adopted`: added to the state file, and nothing had to be changed
 * - `unchanged`: already as wanted when it was read again; nothing was sent
 * - `unverified`: the service confirmed the changes, but the user could not be read back
 * - `conflict`: changed since the plan was made; nothing was sent
 * - `not_applied`: the service confirmed the changes, but reports other values
 * - `failed`: refused by the service
 * - `unknown`: the outcome of a request is unknown
 * - `nameless`: created, but the response had no id, or that of another user
 * - `pending`: the run ended before everything was sent
 */
export type OutcomeStatus =
  | 'created'
  | 'changed'
  | 'adopted'
  | 'unchanged'
  | 'unverified'
  | 'conflict'
  | 'not_applied'
  | 'failed'
  | 'unknown'
  | 'nameless'
  | 'pending'

export interface UserOutcome {
  email: string
  id: string | undefined
  status: OutcomeStatus
  /** Whether this run created the user. */
  isCreated: boolean
  /** Fields that were sent and cannot be read back. */
  sent: readonly string[]
  /** Of a `conflict` or `not_applied`. */
  mismatches: readonly Mismatch[]
  failure?: Failure
}
