import { quoteWord } from '../../cli/command-line.ts'
import { connectWorkers } from '../../cli/context/connect-workers.ts'
import type { Context } from '../../cli/context/context.ts'
import { BulkProgress } from '../../cli/output/progress.ts'
import type { ConfiguredQuota } from '../../config/quota.ts'
import type { ApplyRunOptions } from '../../users/apply/apply-run.ts'
import type { Comparing } from '../../users/apply/plan-users.ts'
import type { UserOutcome } from '../../users/apply/user-outcome.ts'
import type { printedDifferences, UsersPlan } from '../../users/apply/users-plan.ts'
import type { estimateDuration } from '../../users/send/estimate.ts'
import type { KnownQuota } from '../../users/send/known-quota.ts'
import { countOf } from '../../view/format/count.ts'
import { type UserCounts, userDifferenceView } from '../../view/user-differences.ts'
import { planServiceOf } from '../settings/settings-change.ts'
import { defaultConcurrency } from './bulk-flags.ts'

type ConfirmOptions = { yes: boolean; service: string; state: string; printed: typeof printedDifferences }

/** How a run compares users, with its progress. */
export function comparing(
  context: Context,
  progress: ApplyProgress,
  flags: { 'no-refresh': boolean; concurrency: number | undefined; quota: ConfiguredQuota | undefined },
): Omit<Comparing, 'source' | 'state'> {
  const { directories, host, options, signal } = context
  return {
    directories,
    service: planServiceOf(context),
    refresh: !flags['no-refresh'],
    concurrency: flags.concurrency ?? defaultConcurrency,
    quota: flags.quota,
    maxWait: options.max_wait.value,
    clock: host.clock,
    signal,
    connect: (other) => connectWorkers(context, other),
    onPause: (pause) => progress.pause(pause),
    onResume: () => progress.go(),
    onCompared: (counts, quota) => progress.compared(counts, quota),
  }
}

/** The prompt and the progress of a run that applies. */
export function applyEvents(
  context: Context,
  progress: ApplyProgress,
  options: ConfirmOptions,
): Pick<ApplyRunOptions, 'onPlanned' | 'confirm' | 'onOutcome'> {
  return {
    onPlanned: async ({ respelled }) => {
      progress.end()
      await warnOfSpelling(context, respelled, options.state)
    },
    confirm: (plan) => confirm(context, plan, options),
    onOutcome: (outcome, quota) => progress.settled(outcome, quota),
  }
}

async function confirm(
  context: Context,
  plan: UsersPlan,
  { yes, service, state, printed }: ConfirmOptions,
): Promise<void> {
  const { output, prompter } = context
  await output.showAside(userDifferenceView, printed(plan, { service, state }), !yes && prompter.canAsk)
  if (yes) return
  const users = countOf(plan.planned.length, 'user')
  const to = context.contextOwner().baseUrl ?? 'the embedded service'
  await prompter.confirm(`Apply the changes of ${users} to ${to}?`)
}

/** The progress of the comparison, and then of the requests. */
export class ApplyProgress {
  readonly #context: Context
  readonly #estimate: typeof estimateDuration
  readonly #counts = { done: 0, failed: 0, unknown: 0 }
  #progress: BulkProgress | undefined
  #quota: KnownQuota | undefined
  /** Number of compared users. */
  total = 0

  /** @param estimate of the bulk layer, which the command has loaded */
  constructor(context: Context, estimate: typeof estimateDuration) {
    this.#context = context
    this.#estimate = estimate
  }

  /** @param total number of users */
  begin(total: number): void {
    this.end()
    const estimate = (requests: number, perSecond: number) =>
      this.#estimate({ requests, perSecond, quota: this.#quota })
    this.#progress = new BulkProgress(this.#context.output, { noun: 'user', total, estimate })
  }

  compared(counts: UserCounts, quota: KnownQuota | undefined): void {
    const { create, change, adopt, unchanged, missing, unknown, unread, failed } = counts
    this.#quota = quota
    const done = create + change + adopt + unchanged + missing + unknown + unread
    this.total = done + failed
    this.#progress?.update({ done, failed, unknown: 0 })
  }

  settled({ status }: UserOutcome, quota: KnownQuota | undefined): void {
    this.#quota = quota
    const isUnknown = status === 'unknown' || status === 'nameless' || status === 'unverified'
    const isFailed = status === 'failed' || status === 'conflict' || status === 'not_applied'
    if (status !== 'pending') this.#counts[isUnknown ? 'unknown' : isFailed ? 'failed' : 'done']++
    this.#progress?.update({ ...this.#counts })
  }

  pause(pause: Parameters<BulkProgress['pause']>[0]): void {
    this.#progress?.pause(pause)
  }

  go(): void {
    this.#progress?.go()
  }

  end(): void {
    this.#progress?.end()
    this.#progress = undefined
  }
}

/**
 * Says what a comparison of users cannot see.
 *
 * @param state.name of the state file, as the user gave it
 */
export function sayWhatIsUnseen(
  { output }: Context,
  state: { name: string; exists: boolean },
  refresh: boolean,
): void {
  const { name, exists } = state
  if (!exists) {
    output.notice(
      `There is no state file ${name} yet, so every user is new that was not created from this machine. To record users who exist, run: chatctl users adopt EMAIL=ID --state ${quoteWord(name)}`,
    )
  } else if (!refresh) {
    output.notice(`Compared with ${name} alone: no user was read, so changes by others are not seen.`)
  }
}

/** @param users number of users whose email in the files has another case than in the state file */
export async function warnOfSpelling({ output }: Context, users: number, state: string): Promise<void> {
  if (users === 0) return
  await output.warn(
    `${countOf(users, 'email')} ${users === 1 ? 'has' : 'have'} another case in the files than in ${state}. An email cannot be changed, so the case is ignored.`,
  )
}
