import { BulkRun } from '../../bulk/send/bulk-run.ts'
import { runRows } from '../../bulk/send/concurrency.ts'
import { ServiceHealth } from '../../bulk/send/send-change.ts'
import { readBackPauses } from '../../contract/request-defaults.ts'
import type { Run } from '../../run/run.ts'
import { once } from '../../system/once.ts'
import { countOf } from '../../view/format/quantities.ts'
import { userDifferenceView } from '../../view/user-differences.ts'
import type { KnownUsers } from '../known-users.ts'
import { CreatedIds } from '../send/created-ids.ts'
import type { ApplySending } from './apply-sending.ts'
import { UserApplication } from './apply-user.ts'
import { type PasswordChoice, PasswordSource } from './password-source.ts'
import { type Comparing, planUsers } from './plan-users.ts'
import type { UserOutcome } from './user-outcome.ts'
import { type PlannedUser, printedDifferences, type UsersPlan } from './users-plan.ts'

export interface ApplyFilesOptions extends Comparing {
  known: KnownUsers
  passwords: PasswordChoice | undefined
  /** Whether users are created although the service gives no IDs. */
  withoutIds: boolean
  /** Whether to skip the confirmation prompt. */
  yes: boolean
}

export interface AppliedUsers {
  plan: UsersPlan
  /** Of the users that were begun, by their differences. */
  outcomes: ReadonlyMap<PlannedUser, UserOutcome>
  /** The error or abort reason that ended the run early. */
  ended?: unknown
}

/**
 * Compares the users of the files with the service, and applies the differences.
 * @throws Failure if the comparison failed, or `usage` if new users need a password
 */
export async function compareAndApply(run: Run, options: ApplyFilesOptions): Promise<AppliedUsers> {
  const { state, known, concurrency, quota, refresh, source } = options
  const passwords = new PasswordSource(options.passwords, run)
  const bulk = new BulkRun(run, { noun: 'user', quota })
  const client = await bulk.connect()
  const plan = await planUsers(run, { ...options, users: refresh ? client.users : undefined }, bulk)
  const outcomes = new Map<PlannedUser, UserOutcome>()
  if (run.dryRun) return { plan, outcomes }

  passwords.demand(plan.planned)
  const rows = plan.planned.length
  if (rows > 0) await confirm(run, plan, options)
  const lost = passwords.open(known)
  if (lost !== undefined) await run.warn(lost)
  run.refuseClaimed(known.end())
  const counts = { done: 0, failed: 0, unknown: 0 }
  const progress = rows > 0 ? bulk.begin({ rows, isSending: true }) : undefined
  const notePlan = once(async () => {
    if ('plan' in source) await run.note({ plan: source.plan.header.id })
  })
  const sending = {
    ...{ users: client.users, state, known, throttle: bulk.throttle, concurrency },
    ...{ clock: run.clock, signal: run.signal, ids: new CreatedIds(options.withoutIds, known) },
    passwordOf: (email: string) => passwords.of(email),
    beforeChange: notePlan,
    onOutcome: (user: PlannedUser, outcome: UserOutcome) => {
      outcomes.set(user, outcome)
      passwords.settle(user, outcome)
      const kind = countedAs(outcome)
      if (kind) counts[kind]++
      progress?.update({ ...counts })
    },
  }
  try {
    const ended = await bulk.whileSending(() => applyUsers(plan.planned, sending))
    return { plan, outcomes, ended }
  } finally {
    await passwords.finish(outcomes)
  }
}

async function confirm(run: Run, plan: UsersPlan, { yes, state }: ApplyFilesOptions): Promise<void> {
  const { service } = run
  await run.showAside(userDifferenceView, printedDifferences(plan, { service, state: state.name }), !yes)
  if (yes) return
  const to = service === 'local' ? 'the embedded service' : service
  await run.confirm(`Apply the changes of ${countOf(plan.planned.length, 'user')} to ${to}?`)
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
 * Applies the differences of many users concurrently. A user that fails does not end the run. Users whose changes the
 * service does not show yet are read back again at the end, all after the same pauses.
 * @returns the error or abort reason that ended the run early
 */
export async function applyUsers(
  planned: readonly PlannedUser[],
  { concurrency, onOutcome, ...sending }: ApplyUsersOptions,
): Promise<unknown> {
  const { clock, signal } = sending
  const health = new ServiceHealth()
  const pending = new Map<UserApplication, PlannedUser>()
  const settle = async (user: PlannedUser, application: UserApplication, work: Promise<void>) => {
    pending.set(application, user)
    try {
      await work
    } finally {
      if (!application.isPending) {
        pending.delete(application)
        onOutcome(user, application.outcome)
      }
    }
  }
  let ended = await runRows(planned, { concurrency, signal }, (user) => {
    const application = new UserApplication(user, { ...sending, health })
    return settle(user, application, application.run())
  })
  for (const ms of readBackPauses) {
    if (pending.size === 0 || ended !== undefined) break
    ended = await clock.sleep(ms, signal).catch((reason: unknown) => reason)
    const isLast = ms === readBackPauses.at(-1)
    ended ??= await runRows([...pending], { concurrency, signal }, ([application, user]) =>
      settle(user, application, application.readBack(isLast)),
    )
  }
  for (const [{ outcome }, user] of pending) onOutcome(user, outcome)
  return ended
}
