import type { ProgressEvent, RunSurroundings } from '../../bulk/send/bulk-run.ts'
import { runRows } from '../../bulk/send/concurrency.ts'
import { ServiceHealth } from '../../bulk/send/send-change.ts'
import { recordedUsers } from '../compare-user.ts'
import { type ApplySending, UserApplication } from './apply-user.ts'
import { type PasswordChoice, type PasswordCommandOptions, PasswordSource } from './password-source.ts'
import { type Comparing, openRun, planUsers } from './plan-users.ts'
import type { UserOutcome } from './user-outcome.ts'
import { isNewUser, type PlannedUser, type UsersPlan } from './users-plan.ts'

export interface ApplyRunOptions extends Comparing {
  /** Whether to end when the plan is made. */
  isDryRun: boolean
  passwords: PasswordChoice | undefined
  /** Called before the first request that changes something. */
  onFirstChange(): Promise<void>
}

/** `env` and `cwd`: of the password command. */
export type ApplySurroundings = RunSurroundings & PasswordCommandOptions

export type ApplyEvent =
  | ProgressEvent
  | { type: 'planned' }
  /** If there are differences to apply. To send nothing, stop reading the events. */
  | { type: 'confirm'; plan: UsersPlan }
  | { type: 'end'; applied: AppliedUsers }

export interface AppliedUsers {
  plan: UsersPlan
  /** Of the users that were begun, by their differences. */
  outcomes: ReadonlyMap<PlannedUser, UserOutcome>
  /** The error or abort reason that ended the run early. */
  ended?: unknown
}

/**
 * Compares the users of the files with the service, and applies the differences.
 *
 * @throws Failure if the comparison failed, or `usage` if new users need a password
 */
export async function* runApply(
  options: ApplyRunOptions,
  around: ApplySurroundings,
): AsyncGenerator<ApplyEvent> {
  const { state, concurrency, isDryRun, onFirstChange } = options
  const passwords = new PasswordSource(options.passwords, around)
  const run = openRun(options, around)
  const client = await run.connect()
  const recorded = recordedUsers(around.directories, around.service)
  const users = options.refresh ? client.users : undefined
  if (!('plan' in options.source)) yield run.begin({ rows: options.total, isSending: false })
  const plan = yield* run.while(() => planUsers({ ...options, users, recorded }, around, run))
  yield { type: 'planned' }
  const outcomes = new Map<PlannedUser, UserOutcome>()
  if (plan.planned.length === 0 || isDryRun) {
    yield { type: 'end', applied: { plan, outcomes } }
    return
  }

  const created = plan.planned.filter(isNewUser)
  passwords.demand(created)
  yield { type: 'confirm', plan }
  await passwords.prepare(created)
  const counts = { done: 0, failed: 0, unknown: 0 }
  yield run.begin({ rows: plan.planned.length, isSending: true })
  let begun: Promise<void> | undefined
  const sending = {
    ...{ users: client.users, state, recorded, throttle: run.throttle, concurrency },
    ...{ clock: around.clock, signal: around.signal },
    passwordOf: (email: string) => passwords.of(email),
    beforeChange: () => (begun ??= onFirstChange()),
    onOutcome: (user: PlannedUser, outcome: UserOutcome) => {
      outcomes.set(user, outcome)
      passwords.settle(outcome)
      const kind = countedAs(outcome)
      if (kind) counts[kind]++
      run.push({ type: 'progress', counts: { ...counts } })
    },
  }
  let ended: unknown
  try {
    ended = yield* run.whileSending(() => applyUsers(plan.planned, sending))
  } finally {
    await passwords.finish()
  }
  yield { type: 'end', applied: { plan, outcomes, ended } }
}

function countedAs({ status }: UserOutcome): 'done' | 'failed' | 'unknown' | undefined {
  switch (status) {
    case 'pending':
      return undefined
    case 'unknown':
    case 'nameless':
    case 'unverified':
      return 'unknown'
    case 'failed':
    case 'conflict':
    case 'not_applied':
      return 'failed'
    default:
      return 'done'
  }
}

export interface ApplyUsersOptions extends Omit<ApplySending, 'health'> {
  concurrency: number
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
  const health = new ServiceHealth()
  return runRows(planned, { concurrency, signal: sending.signal }, async (user) => {
    const application = new UserApplication(user, { ...sending, health })
    try {
      await application.run()
    } finally {
      onOutcome(user, application.outcome)
    }
  })
}
