import type { Mismatch } from '../../contract/contradictions.ts'
import { afterColon, type Failure, reasonOf } from '../../contract/failure.ts'
import type { UserOutcome } from '../../users/apply/user-outcome.ts'
import type { UserDifference } from '../../users/compare-user.ts'
import type { RowResult, UnknownRow } from '../../users/results/report-rows.ts'
import { describeMismatches, shownValue } from '../../view/failure-details.ts'

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

/** A message, and command lines. */
type Described = readonly [message: string, ...hints: string[]] | undefined

/** The problem of a user; undefined if it has none, or was not finished. @param outcome of a user that was begun */
export function problemOf(
  difference: UserDifference,
  outcome: UserOutcome | undefined,
  steps: NextSteps,
): UserProblem | undefined {
  const described = outcome ? describeOutcome(outcome, steps) : describeDifference(difference, steps)
  if (!described) return undefined
  const [message, ...hints] = described
  const failure = outcome ? outcome.failure : difference.error
  return { code: failure?.code ?? outcome?.status ?? difference.action, message, hints }
}

function describeOutcome(outcome: UserOutcome, { adopt, forget, retry }: NextSteps): Described {
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
      return [`changed since the comparison: ${describeConflict(mismatches, failure)}`]
    case 'not_applied':
      return [but + (failure ? reasonOf(failure) : describeMismatches(mismatches))]
    case 'unverified':
      // Without a failure, the run has ended, and the next one reads the user.
      return failure && [`${done}, but not read back: ${describeFailure(failure)}`]
    case 'failed': {
      const taken = failure?.advice.find((advice) => advice.code === 'adopt_existing')
      return [but + describeFailure(failure), ...(taken ? [adopt(email, taken.id)] : [])]
    }
    case 'nameless':
      return [
        `created, but ${failure ? reasonOf(failure) : 'the response has no ID'}`,
        adopt(email, undefined),
        forget(email),
      ]
    case 'unknown':
      if (id !== undefined) return [`${but}the outcome of a change is unknown: ${describeFailure(failure)}`]
      return [
        `the outcome of the creation is unknown: ${describeFailure(failure)}`,
        adopt(email, undefined),
        retry,
      ]
  }
}

function describeDifference(
  { action, email, error }: UserDifference,
  { adopt, forget, retry, recreate }: NextSteps,
): Described {
  switch (action) {
    case 'missing':
      return ['the service no longer has this user (404)', recreate]
    case 'unknown':
      if (error) return [error.message, adopt(email, undefined), forget(email)]
      return ['the outcome of an earlier creation is unknown', adopt(email, undefined), retry]
    case 'failed':
      if (error?.kind !== 'conflict') return [describeFailure(error)]
      return [describeFailure(error), adopt(email, undefined), forget(email)]
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

/** The command line that resolves the row at a place. */
export type ResolvingCommand = (as: 'created' | 'retry' | 'skip', place: string) => string

/** @param rows the first failed rows */
export function describeFailed(rows: readonly RowResult[], count: number): string {
  const lines = rows.map(({ line, email, id, error }) => `Line ${line} (${email || id}) failed: ${error}`)
  if (count > rows.length) lines.push(`and ${count - rows.length} more; --results FILE lists them`)
  return lines.join('\n')
}

/**
 * The rows whose outcome is unknown, each with the command that resolves it. Commands are on separate lines,
 * so that they can be copied.
 * @param count of all such rows; `rows` may be only the first ones
 * @param resolvingCommand undefined if nothing is created
 * @param list path of the file that lists all of them
 */
export function describeUnknown(
  rows: readonly UnknownRow[],
  count: number,
  resolvingCommand: ResolvingCommand | undefined,
  list: string | undefined,
): string {
  const lines = rows.flatMap(({ line, email, id, error, place, remains }) => {
    const what = `The outcome of line ${line} (${email || id}) is unknown: ${error}`
    return !remains && resolvingCommand ? [what, `  ${resolvingCommand('created', place)}`] : [what]
  })
  if (count > rows.length) {
    const where = list === undefined ? '--results FILE lists all of them' : `all are listed in ${list}`
    lines.push(`and ${count - rows.length} more; ${where}`)
  }
  const open = rows.filter(({ remains }) => !remains)
  const retryable = open.find(({ mayRetry }) => mayRetry)
  const [first] = open
  if (resolvingCommand && retryable) {
    lines.push(
      'Check whether the users were created. If a user was created, give its id as above. If not, run:',
      `  ${resolvingCommand('retry', retryable.place)}`,
      'If the response is then 409, the user was created before. To skip the row, run:',
      `  ${resolvingCommand('skip', retryable.place)}`,
    )
  } else if (resolvingCommand && first) {
    lines.push('The users were created. Give the id of each as above, or skip the row:')
    lines.push(`  ${resolvingCommand('skip', first.place)}`)
  }
  if (rows.some(({ remains }) => remains)) {
    lines.push('To send updates and assignments again, run the same command.')
  }
  return lines.join('\n')
}
