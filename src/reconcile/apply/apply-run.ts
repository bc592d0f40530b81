import { countAcrossRuns } from '../../bulk/journal/spent-quota.ts'
import { GracefulAbort } from '../../bulk/send/graceful-abort.ts'
import type { KnownQuota } from '../../bulk/send/known-quota.ts'
import { Throttle, type ThrottleOptions } from '../../bulk/send/throttle.ts'
import type { Client } from '../../client/client.ts'
import type { ClientOptions } from '../../client/client-options.ts'
import { recordedUsers } from '../recorded-users.ts'
import type { PlacedUser } from '../user-files.ts'
import type { UsersPlanFile } from '../users-plan-file.ts'
import type { ApplySending } from './apply-user.ts'
import { applyUsers } from './apply-users.ts'
import { openPasswordSource, type PasswordChoice } from './password-source.ts'
import { type Comparing, planUsers } from './plan-users.ts'
import { isNewUser, type PlannedUser } from './planned-user.ts'
import type { UserOutcome } from './user-outcome.ts'
import { type PlanChoices, type UsersPlan, UsersPlanBuilder } from './users-plan.ts'

export interface ApplyRunOptions extends PlanChoices, Comparing, ThrottleOptions {
  /** The users of checked files, or a saved plan. */
  source: { users: AsyncIterable<readonly PlacedUser[]> } | { plan: UsersPlanFile }
  /** Whether users are read before they are compared. */
  refresh: boolean
  /** Whether to end when the plan is made. */
  isDryRun: boolean
  passwords: PasswordChoice | undefined
  /** The environment and the working directory of the password command. */
  env: NodeJS.ProcessEnv
  cwd: string | undefined
  connect(other: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal'>): Promise<Client>
  /** @param respelled number of users whose email in the files has another case than in the state file */
  onPlanned(respelled: number): Promise<void>
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
  const throttle = new Throttle({ ...options, ...(await countAcrossRuns(options)) })
  const abort = new GracefulAbort(options)
  const client = await options.connect({
    maxWait: 0,
    signal: abort.signal,
    observe: (event) => throttle.observe(event),
  })
  const building = new UsersPlanBuilder(options)
  const recorded = recordedUsers(options.directories, options.service)
  const plan = await makePlan(building, { ...options, users: client.users, recorded, throttle })
  await options.onPlanned(building.respelled)
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
      passwordOf: passwords.of,
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

async function makePlan(
  building: UsersPlanBuilder,
  options: ApplyRunOptions & Pick<ApplySending, 'users' | 'recorded'> & { throttle: Throttle },
): Promise<UsersPlan> {
  const { source, state, refresh, users } = options
  if (!('plan' in source))
    return planUsers(building, { ...options, files: source.users, users: refresh ? users : undefined })
  const { plan } = source
  for (const user of plan.users) building.add(user, state.find(user.wanted.email))
  return { ...building.finish(plan.unmanaged), counts: plan.counts }
}
