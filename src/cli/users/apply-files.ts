import type { estimateDuration } from '../../bulk/send/estimate.ts'
import type { KnownQuota } from '../../bulk/send/known-quota.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import type { ConfiguredQuota } from '../../config/quota.ts'
import type { AppliedUsers, runApply } from '../../reconcile/apply/apply-run.ts'
import type { PasswordChoice } from '../../reconcile/apply/password-source.ts'
import type { UserOutcome } from '../../reconcile/apply/user-outcome.ts'
import type { PlanChoices, UserCounts, UsersPlan } from '../../reconcile/apply/users-plan.ts'
import type { UsersState } from '../../reconcile/state/users-state.ts'
import type { UserFiles } from '../../reconcile/user-files.ts'
import { countOf } from '../../view/count.ts'
import type { Context } from '../context.ts'
import { journalServiceOf } from '../import/close-import.ts'
import { BulkProgress } from '../output/bulk-progress.ts'
import { type ApplyResult, finishApply } from './finish-apply.ts'

/** Grace period in ms, to wait for pending requests and to write the state file. */
const grace = 60_000

export interface ApplyFilesOptions extends PlanChoices {
  /** Names of the files; `-` is stdin. */
  names: readonly string[]
  /** Name of the state file. */
  state: string
  expandEnv: boolean
  refresh: boolean
  passwords: PasswordChoice | undefined
  concurrency: number
  quota: ConfiguredQuota | undefined
  /** Whether to skip the confirmation prompt. */
  yes: boolean
}

/** The functions of other layers, which the command has loaded. */
export interface ApplyFunctions {
  openFiles: typeof UserFiles.open
  openState: typeof UsersState.open
  runApply: typeof runApply
  estimateDuration: typeof estimateDuration
}

/**
 * Applies files of users, with the confirmation prompt and progress, and shows the result.
 *
 * @throws Failure `incomplete` or `conflict` if users were not applied; the reason of an early end
 */
export async function applyFiles(
  context: Context,
  { openFiles, openState, runApply, estimateDuration }: ApplyFunctions,
  options: ApplyFilesOptions,
): Promise<void> {
  context.demandNamedService()
  const { host, signal, resolvePath, env, directories } = context
  host.allowGrace(grace)
  host.keepHeapSmall()
  const service = journalServiceOf(context)
  const files = await openFiles(options.names, {
    format: undefined,
    signal,
    directories,
    untilEnded: () => host.untilEnded(),
    resolvePath,
    env: options.expandEnv ? env : undefined,
    get stdin() {
      return host.stdin
    },
  })
  let applied: AppliedUsers
  const progress = new ApplyProgress(context, estimateDuration)
  try {
    const users = await files.check()
    for (const warning of files.warnings) await context.output.warn(warning)
    const state = await openState(resolvePath(options.state), {
      service,
      signal,
      access: context.dryRun ? 'read' : 'write',
      name: options.state,
    })
    try {
      progress.beginComparing(users)
      applied = await runApply({
        ...options,
        ...progress.events,
        state,
        users: files.users(),
        env,
        cwd: host.cwd,
        clock: host.clock,
        signal,
        maxWait: context.options.max_wait.value,
        connect: (other) => connect(context, other),
        confirm: (plan) => confirm(context, plan, options.yes),
      })
    } finally {
      progress.end()
      await state.close()
    }
  } finally {
    files.close()
  }
  const result: ApplyResult = { ...applied, service, state: options.state, refresh: options.refresh }
  await finishApply(context, result)
}

function connect(context: Context, other: Parameters<Context['connect']>[0]) {
  return context.connect({
    ...other,
    observe: (event: ClientEvent) => {
      other?.observe?.(event)
      context.transport.observe?.(event)
    },
  })
}

/** @returns false with `--dry-run` */
async function confirm(context: Context, { planned }: UsersPlan, isConfirmed: boolean): Promise<boolean> {
  const { dryRun, output, prompter } = context
  if (dryRun) return false
  const users = countOf(planned.length, 'user')
  const service = context.contextOwner().baseUrl ?? 'the embedded service'
  output.notice(`${users} will be created or changed.`)
  if (!isConfirmed) await prompter.confirm(`Apply the changes of ${users} to ${service}?`)
  return true
}

/** The progress of the comparison, and then of the requests. */
class ApplyProgress {
  readonly #context: Context
  readonly #estimate: typeof estimateDuration
  #progress: BulkProgress | undefined
  #quota: KnownQuota | undefined
  #counts = { done: 0, failed: 0, unknown: 0 }

  constructor(context: Context, estimate: typeof estimateDuration) {
    this.#context = context
    this.#estimate = estimate
  }

  beginComparing(users: number): void {
    this.#begin(users)
  }

  readonly events = {
    onCompared: (counts: UserCounts, quota: KnownQuota | undefined): void => {
      const { failed, unmanaged: _, drifted: _drifted, ...others } = counts
      const done = Object.values(others).reduce((sum, count) => sum + count, 0)
      this.#quota = quota
      this.#progress?.update({ done, failed, unknown: 0 })
    },
    onBegin: ({ planned }: UsersPlan): void => {
      this.#begin(planned.length)
      const sayWhy = () =>
        this.#context.output.notice(
          'Waiting for the responses to the requests already sent. Press Ctrl-C again to stop at once.',
        )
      this.#context.signal.addEventListener('abort', sayWhy, { once: true })
    },
    onOutcome: ({ status }: UserOutcome, quota: KnownQuota | undefined): void => {
      this.#quota = quota
      const isUnknown = status === 'unknown' || status === 'nameless' || status === 'unverified'
      const isFailed = status === 'failed' || status === 'conflict' || status === 'not_applied'
      if (status !== 'pending') this.#counts[isUnknown ? 'unknown' : isFailed ? 'failed' : 'done']++
      this.#progress?.update({ ...this.#counts })
    },
    onPause: (pause: Parameters<BulkProgress['pause']>[0]): void => this.#progress?.pause(pause),
    onResume: (): void => this.#progress?.go(),
  }

  end(): void {
    this.#progress?.end()
  }

  #begin(total: number): void {
    this.#progress?.end()
    const estimate = (requests: number, perSecond: number) =>
      this.#estimate({ requests, perSecond, quota: this.#quota })
    this.#progress = new BulkProgress(this.#context.output, { noun: 'user', total, estimate })
  }
}
