import type { Mismatch } from '../../contract/contradictions.ts'
import { afterColon, type Failure, reasonOf } from '../../contract/failure.ts'
import type { UserOutcome } from '../../reconcile/apply/user-outcome.ts'
import type { UserDifference } from '../../reconcile/compare-user.ts'
import { describeMismatches, shownValue } from '../../view/mismatches.ts'

/** A problem of one user, and what to do about it. */
export interface UserProblem {
  code: string
  message: string
  /** Command lines. */
  hints: readonly string[]
}

/** Command lines for the next step. */
export interface NextSteps {
  adopt(email: string, id: string | undefined): string
  forget(email: string): string
  retry: string
  recreate: string
}

/** The problem of a user that was begun; undefined if it has none, or if it was not finished. */
export function problemOf(outcome: UserOutcome, steps: NextSteps): UserProblem | undefined {
  const described = describeOutcome(outcome, steps)
  return described && { code: outcome.failure?.code ?? outcome.status, ...described }
}

type Described = Omit<UserProblem, 'code'>

function describeOutcome(outcome: UserOutcome, { adopt, forget, retry }: NextSteps): Described | undefined {
  const { email, id, status, isCreated, failure, mismatches } = outcome
  const done = isCreated ? 'created' : 'changed'
  const but = isCreated ? 'created, but ' : ''
  switch (status) {
    case 'created':
    case 'changed':
    case 'adopted':
    case 'unchanged':
    case 'pending':
      return undefined
    case 'conflict':
      return {
        message: `changed since the plan was made: ${describeConflict(mismatches, failure)}`,
        hints: [],
      }
    case 'not_applied':
      return {
        message: but + (failure ? reasonOf(failure) : describeMismatches(mismatches)),
        hints: [],
      }
    case 'unverified':
      // Without a failure, the run has ended, and the next one reads the user.
      return failure && { message: `${done}, but not read back: ${describeFailure(failure)}`, hints: [] }
    case 'failed': {
      const [taken] = failure?.advice.filter(({ code }) => code === 'adopt_existing') ?? []
      const existing = taken?.code === 'adopt_existing' ? [adopt(email, taken.id)] : []
      return { message: but + describeFailure(failure), hints: existing }
    }
    case 'nameless':
      return {
        message: `created, but ${failure ? reasonOf(failure) : 'the response has no ID'}`,
        hints: [adopt(email, undefined), forget(email)],
      }
    case 'unknown':
      if (id !== undefined)
        return {
          message: `${but}the outcome of a change is unknown: ${describeFailure(failure)}`,
          hints: [],
        }
      return {
        message: `the outcome of the creation is unknown: ${describeFailure(failure)}`,
        hints: [adopt(email, undefined), retry],
      }
  }
}

/** The problem of a user that cannot be applied. */
export function problemOfDifference(difference: UserDifference, steps: NextSteps): UserProblem | undefined {
  const described = describeDifference(difference, steps)
  return described && { code: difference.error?.code ?? difference.action, ...described }
}

function describeDifference(
  { action, email, error }: UserDifference,
  { adopt, forget, retry, recreate }: NextSteps,
): Described | undefined {
  switch (action) {
    case 'missing':
      return { message: 'the service no longer has this user (404)', hints: [recreate] }
    case 'unknown':
      if (error) return { message: error.message, hints: [adopt(email, undefined), forget(email)] }
      return {
        message: 'the outcome of an earlier creation is unknown',
        hints: [adopt(email, undefined), retry],
      }
    case 'failed':
      return {
        message: describeFailure(error),
        hints: error?.kind === 'conflict' ? [adopt(email, undefined), forget(email)] : [],
      }
    default:
      return undefined
  }
}

function describeConflict(mismatches: readonly Mismatch[], failure: Failure | undefined): string {
  if (failure) return reasonOf(failure)
  return mismatches
    .map(({ path, expected, found }) =>
      expected === undefined
        ? `${path} is ${shownValue(path, found)}, which is not the expected value`
        : `${path} was ${shownValue(path, expected)} and is now ${shownValue(path, found)}`,
    )
    .join('; ')
}

function describeFailure(failure: Failure | undefined): string {
  if (failure === undefined) return 'the run ended before a response arrived'
  const { status, isOutcomeUnknown } = failure
  const message = isOutcomeUnknown ? reasonOf(failure) : afterColon(failure.message)
  return status === undefined ? message : `${status}: ${message}`
}
