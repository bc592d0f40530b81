import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { describeFirst } from '../../cli/context/first-requests.ts'
import { Failure } from '../../contract/failure.ts'
import { joinLines } from '../../contract/notation/text.ts'
import type { AppliedUsers } from '../../users/apply/apply-run.ts'
import type { UserOutcome } from '../../users/apply/user-outcome.ts'
import type { UserDifference } from '../../users/compare-user.ts'
import { firstRequestsView } from '../../view/dry-run.ts'
import { countOf } from '../../view/format/quantities.ts'
import { type PrintedDifferences, userDifferenceView } from '../../view/user-differences.ts'
import { appliedUsersView } from '../../view/users.ts'
import { type NextSteps, problemOf, type UserProblem } from './describe-outcomes.ts'

/** Maximum number of users that are listed on stderr, and of requests that a dry run shows. */
const maxListed = 20
const shownRequests = 3

interface ApplyResult extends AppliedUsers {
  service: string
  /** Name of the state file. */
  state: string
  refresh: boolean
  /** Whether a saved plan was applied. */
  isPlan: boolean
  generatesPasswords: boolean
}

/** A user with its outcome, if it was begun, and its problem, if it has one. */
interface FinishedUser {
  difference: UserDifference
  outcome: UserOutcome | undefined
  problem: UserProblem | undefined
}

/**
 * Shows the users that differed, and the problems on stderr.
 * @throws Failure `incomplete` or `conflict` if users were not applied; the reason of an early end
 */
export async function finishApply(context: Context, result: ApplyResult): Promise<void> {
  const { output } = context
  const { plan, outcomes, ended, isPlan } = result
  const isUntouched = [...outcomes.values()].every(
    ({ status, isCreated }) => status === 'pending' && !isCreated,
  )
  if (ended !== undefined && isUntouched) throw ended
  const { printedDifferences } = await import('../../users/apply/users-plan.ts')
  const differences = printedDifferences(plan, result)
  if (context.dryRun) return showDryRun(context, differences, result)
  const steps = nextSteps(context, result)
  const byEmail = new Map([...outcomes].map(([{ difference }, outcome]) => [difference.email, outcome]))
  const users = plan.users.map(({ difference }): FinishedUser => {
    const outcome = byEmail.get(difference.email)
    return { difference, outcome, problem: problemOf(difference, outcome, steps) }
  })
  const count = (isCounted: (outcome: UserOutcome) => boolean) =>
    users.filter(({ outcome }) => outcome && isCounted(outcome)).length
  const done = count(isDone)
  const created = count(({ isCreated }) => isCreated)
  const adopted = count(({ status }) => status === 'adopted')
  const unchanged = count(({ status }) => status === 'unchanged')
  const changed = count((outcome) => isDone(outcome) && !outcome.isCreated) - adopted - unchanged
  const sent = count((outcome) => outcome.sent.length > 0)
  const counts = { created, changed, adopted, sent, left: users.length - done }
  await output.show(appliedUsersView(counts, result.refresh), {
    ...differences,
    applied: outcomes.size > 0,
    users: users.map(({ outcome, problem }, index) => ({
      ...differences.users[index],
      id: outcome?.id ?? differences.users[index]?.id ?? null,
      ...(outcome && { outcome: outcome.status }),
      ...(problem && { error: { code: problem.code, message: problem.message } }),
    })),
  })
  await warnOfProblems(context, users)
  const words = describeLeft(users)
  if (ended !== undefined) {
    const progress = `${created} created, ${changed} changed, ${plan.planned.length - done} left`
    const aim = isPlan ? 'To continue, make a new plan and apply it' : 'To resume, run the same command'
    // Without IDs, the same command would end in the same way.
    const isFinal = ended instanceof Failure && ended.code === 'no_id'
    output.notice(`${[progress, ...words].join(', ')}.${isFinal ? '' : ` ${aim}.`}`)
    throw ended
  }
  if (words.length > 0) throw incomplete(words, users, isPlan)
}

function incomplete(words: readonly string[], users: readonly FinishedUser[], isPlan: boolean): Failure {
  const isConflict = users.every(
    ({ outcome, problem }) => !problem || outcome?.status === 'conflict' || outcome?.status === 'not_applied',
  )
  const again = isPlan ? 'make and apply a new plan' : 'run the same command again'
  return new Failure(isConflict ? 'conflict' : 'incomplete', words.join(', and '), {
    hint: `${isConflict ? 'Check these users, and' : 'Solve the problems above, and'} ${again}. Users that are done are not sent again.`,
  })
}

/** @throws Failure `incomplete` if users could not be read */
async function showDryRun(
  context: Context,
  differences: PrintedDifferences,
  { plan, generatesPasswords }: ApplyResult,
): Promise<void> {
  const { output } = context
  const [{ plannedSteps }, { findFirstRequests }] = await Promise.all([
    import('../../users/apply/users-plan.ts'),
    import('../../users/planned-work.ts'),
  ])
  const all = plan.planned.map(plannedSteps)
  const total = all.reduce((sum, { steps }) => sum + steps.length, 0)
  const first = findFirstRequests(all, { generatesPasswords, limit: shownRequests })
  const first_requests = describeFirst(first, context.contextOwner().baseUrl)
  const requests = output.isDocument ? { requests: total, first_requests } : {}
  await output.show(userDifferenceView, { ...differences, applied: false, ...requests })
  if (!output.isDocument && total > 0) await output.showAside(firstRequestsView(total), first_requests, false)
  const { failed } = differences.counts
  if (failed > 0) throw new Failure('incomplete', `${countOf(failed, 'user')} could not be compared`)
}

/** Whether everything of a user was sent and confirmed. */
function isDone({ status }: UserOutcome): boolean {
  return ['created', 'changed', 'adopted', 'unchanged', 'unverified'].includes(status)
}

function nextSteps(context: Context, { state }: ApplyResult): NextSteps {
  return {
    adopt: (email, id = 'ID') => commandFor(context, 'users', 'adopt', `${email}=${id}`, '--state', state),
    forget: (email) =>
      `or, to create the user again: ${commandFor(context, 'users', 'state', 'forget', email, '--state', state)}`,
    retry: 'the same command with --retry-unknown',
    recreate: 'the same command with --recreate-missing',
  }
}

async function warnOfProblems({ output }: Context, users: readonly FinishedUser[]): Promise<void> {
  const all = users.filter(({ problem }) => problem !== undefined)
  if (all.length === 0) return
  const lines = all.slice(0, maxListed).flatMap(({ difference, problem }) => {
    const { file, line, email } = difference
    const place = file === undefined ? '' : `${file}:${line}: `
    return [`${place}${email}: ${problem?.message}`, ...(problem?.hints ?? []).map((hint) => `  ${hint}`)]
  })
  if (all.length > maxListed) lines.push(`and ${all.length - maxListed} more; --json lists all of them`)
  await output.warn(joinLines(lines))
}

const kinds: Readonly<Record<string, string>> = {
  conflict: 'changed since the comparison',
  not_applied: 'with a change that did not take effect',
  unverified: 'could not be read back',
  unknown: 'with an unknown outcome or ID',
  nameless: 'with an unknown outcome or ID',
  missing: 'missing on the service',
}

/** `2 users failed`, and so on, for each kind of problem. */
function describeLeft(users: readonly FinishedUser[]): string[] {
  const counts = new Map<string, number>()
  for (const { difference, outcome, problem } of users) {
    if (!problem) continue
    const kind = kinds[outcome?.status ?? difference.action] ?? 'failed'
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].map(([kind, count]) => `${countOf(count, 'user')} ${kind}`)
}
