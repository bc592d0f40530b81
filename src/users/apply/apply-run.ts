import { recordedUsers } from '../compare-user.ts'
import { GracefulAbort } from '../send/graceful-abort.ts'
import type { KnownQuota } from '../send/known-quota.ts'
import { runRows } from '../send/run-rows.ts'
import { ServiceHealth } from '../send/service-health.ts'
import { type ApplySending, UserApplication } from './apply-user.ts'
import { openPasswordSource, type PasswordChoice } from './password-source.ts'
import { type Comparing, openThrottle, planUsers } from './plan-users.ts'
import { isNewUser, type PlannedUser } from './planned-user.ts'
import type { UserOutcome } from './user-outcome.ts'
import type { UsersPlan } from './users-plan.ts'

export interface ApplyRunOptions extends Comparing {
  /** Whether to end when the plan is made. */
  isDryRun: boolean
  passwords: PasswordChoice | undefined
  /** The environment and the working directory of the password command. */
  env: NodeJS.ProcessEnv
  cwd: string | undefined
  onPlanned(plan: UsersPlan): Promise<void>
  /** Called if there are differences to apply. Throws to send nothing. */
  confirm(plan: UsersPlan): Promise<void>
  onBegin(plan: UsersPlan): void
  /** Called before the first request that changes something. */
  onFirstChange(): Promise<void>
  onOutcome(outcome: UserOutcome, quota: KnownQuota | undefined): void
}

export interface AppliedUsers {
  plan: UsersPlan
  /** Of the users that were begun, by their differences. */
  outcomes: ReadonlyMap<PlannedUser, UserOutcome>
  /** The error or abort reason that ended the run early. */
  ended?: unknown
}

/**
 * Compares the users of the files with the service, asks for confirmation, and applies the differences.
 *
 * @throws Failure if the comparison failed, or `usage` if new users need a password; what `confirm` throws
 */
export async function runApply(options: ApplyRunOptions): Promise<AppliedUsers> {
  const { state, clock, signal, concurrency, onOutcome } = options
  const passwords = openPasswordSource(options.passwords, options)
  const throttle = await openThrottle(options)
  const abort = new GracefulAbort(options)
  const client = await options.connect({
    maxWait: 0,
    signal: abort.signal,
    observe: (event) => throttle.observe(event),
  })
  const recorded = recordedUsers(options.directories, options.service)
  const users = options.refresh ? client.users : undefined
  const plan = await planUsers({ ...options, users, recorded, throttle })
  await options.onPlanned(plan)
  const outcomes = new Map<PlannedUser, UserOutcome>()
  if (plan.planned.length === 0 || options.isDryRun) return { plan, outcomes }

  const created = plan.planned.filter(isNewUser)
  // Before the confirmation prompt.
  if (options.passwords === undefined) await passwords.prepare(created)
  await options.confirm(plan)
  await passwords.prepare(created)
  options.onBegin(plan)
  abort.begin()
  let begun: Promise<void> | undefined
  try {
    const ended = await applyUsers(plan.planned, {
      users: client.users,
      state,
      recorded,
      throttle,
      clock,
      signal,
      concurrency,
      passwordOf: (email) => passwords.of(email),
      beforeChange: () => (begun ??= options.onFirstChange()),
      onOutcome: (user, outcome) => {
        outcomes.set(user, outcome)
        passwords.settle(outcome)
        onOutcome(outcome, throttle.known)
      },
    })
    return { plan, outcomes, ended }
  } finally {
    abort.end()
    await passwords.finish()
  }
}

export interface ApplyUsersOptions extends Omit<ApplySending, 'health' | 'missing'> {
  concurrency: number
  /** Ends the run. Requests in progress may finish: see `GracefulAbort`. */
  signal: AbortSignal
  /** Called once for each user that was begun. */
  onOutcome(planned: PlannedUser, outcome: UserOutcome): void
}

/**
 * Applies the differences of many users concurrently. A user that fails does not end the run.
 *
 * @returns the error or abort reason that ended the run early
 */
export async function applyUsers(
  planned: readonly PlannedUser[],
  { concurrency, onOutcome, ...sending }: ApplyUsersOptions,
): Promise<unknown> {
  const { signal } = sending
  const health = new ServiceHealth()
  const isMissing = ({ difference }: PlannedUser) => difference.action === 'missing'
  const missing = new Set(planned.filter(isMissing).map(({ difference }) => difference.id))
  async function* batches() {
    yield planned
  }
  const work = async (user: PlannedUser) => {
    const application = new UserApplication(user, { ...sending, health, missing })
    try {
      await application.run()
    } finally {
      onOutcome(user, application.outcome)
    }
  }
  try {
    await runRows(batches(), concurrency, work, () => signal.aborted)
    return signal.aborted ? signal.reason : undefined
  } catch (error) {
    return signal.aborted ? signal.reason : error
  }
}
