import { lstatSync } from 'node:fs'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { describeFirst } from '../../cli/context/first-requests.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { requiredArgument, textFlag } from '../../cli/flags/flag-types.ts'
import { yesFlag } from '../../cli/flags/shared-flags.ts'
import { readTextFile } from '../../cli/input/read-input.ts'
import { findSealKey, type KeyFlags, sealKeyFlag } from '../../cli/input/seal-key.ts'
import { readGuardVariable } from '../../config/option-values.ts'
import { localProfile, profileOfService } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { quoteForeign } from '../../contract/notation/text.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { replaceFile } from '../../system/files/replace-file.ts'
import { firstRequestsView, type PlannedRequest } from '../../view/dry-run.ts'
import { approvedPlanView } from '../../view/plan-record.ts'
import { differenceView } from '../../view/settings.ts'
import { plannedUsersView } from '../../view/user-differences.ts'

export default class PlanApprove extends BaseCommand {
  static override summary = 'Show a saved plan, and sign it with an SSH key'
  static override description =
    'Shows the service of the plan and what would change, asks for confirmation, signs the file with ssh-keygen, and writes PLAN.sig. If --profile or --base-url selects another service, nothing is signed. If a profile has the option approvers, settings apply and users apply require a signature by one of them. For a key in an SSH agent, give its .pub file.'
  static override requests = { ...localWork, effect: 'changes this machine' as const }
  static override view = approvedPlanView
  static override examples = BaseCommand.toExamples({
    'Approve a plan of settings': 'chatctl plan approve settings.plan --key ~/.ssh/id_ed25519',
    'Approve a sealed plan':
      'chatctl plan approve sealed.plan --key ~/.ssh/id_ed25519 --seal-key-file seal.key',
  })
  static override args = { plan: requiredArgument('Plan of settings diff --save or users diff --save') }
  static override flags = {
    key: textFlag({ helpValue: 'FILE', required: true, summary: 'SSH key to sign with' }),
    ...sealKeyFlag,
    yes: yesFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(PlanApprove)
    const { host, signal, output, prompter } = context
    const { env, cwd, clock, untilEnded } = host
    const plan = { name: args.plan, text: readTextFile(args.plan, context) }
    const { topic, kind, header, view, differences, planned } = await this.#read(plan, flags, context)
    const { service, created_at, tool, valid_until } = header
    // Without a flag, the service of the plan counts, also if a variable selects another.
    const { profile, base_url: baseUrl } = context.options
    const isChosen = profile.source === 'flag' || baseUrl.source === 'flag'
    const { misfitOf } = await import('../../system/files/saved-plan.ts')
    const chosen = isChosen ? context.service : service
    const about = { service: chosen, toolVersion: tool, now: clock.now() }
    const misfit = misfitOf(plan.name, header, about, kind)
    const hint = 'Omit --profile and --base-url, or choose the service of the plan.'
    if (misfit) throw chosen === service ? misfit : new Failure('conflict', misfit.message, { hint })
    const known = profile.source === 'flag' ? profile.value : profileOfService(context.configuration, service)
    const { approvers = readGuardVariable('CHATCTL_APPROVERS', env) } =
      context.configuration.profiles?.[known ?? ''] ?? {}
    const requests = describeFirst(planned, service === localProfile ? undefined : service)
    const isPrompted = !flags.yes && prompter.canAsk
    await output.showAside(view, differences, isPrompted)
    const { length } = requests
    if (length > 0) await output.showAside(firstRequestsView(length), requests, isPrompted)
    if (!flags.yes) await prompter.confirm(`Sign ${args.plan} with ${flags.key}?`)
    const { signText } = await import('../../system/ssh-signature.ts')
    const onTouch = (text: string) => output.notice(text)
    const running = { env, cwd, clock, untilEnded, signal }
    const signature = await signText(plan, flags.key, onTouch, running)
    const name = `${args.plan}.sig`
    const path = context.resolvePath(name)
    const isReplaced = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    try {
      // A link in the directory of another user's plan is replaced, not followed.
      replaceFile(path, signature, { flush: true })
    } catch (cause) {
      throw systemFailure(`Cannot write ${name}`, cause)
    }
    await output.show(approvedPlanView, {
      ...{ path: name, service, created_at, made_by: tool, valid_until },
      ...{ differences, requests },
    })
    if (isReplaced) output.notice(`Replaced the earlier ${name}.`)
    const refusal = await context.approval.checkSignature(plan, approvers)
    if (refusal) await output.warn(`${topic} apply refuses this signature: ${refusal.message}`)
    const named = known === undefined ? ['--base-url', quoteForeign(service)] : ['--profile', known]
    const apply = commandFor(context, topic, 'apply', args.plan, ...(isChosen ? [] : named))
    output.notice(`Apply the plan with: ${apply}`)
  }

  /** What is signed, as the command with which it was made shows it, and every request that applies it. */
  async #read(plan: { name: string; text: string }, flags: KeyFlags, context: Context) {
    const [key, now, { version }] = [findSealKey(flags, context), context.host.clock.now(), this.config]
    const { readUsersPlan, usersPlan } = await import('../../users/users-plan-file.ts')
    const { isPlan } = await import('../../system/files/saved-plan.ts')
    if (isPlan(plan.text, usersPlan)) {
      const { plannedSteps, printedDifferences } = await import('../../users/apply/users-plan.ts')
      const { findFirstRequests } = await import('../../users/planned-work.ts')
      const { header, ...read } = readUsersPlan(plan, version, key)
      const view = plannedUsersView({ ...header, now })
      const differences: object = printedDifferences(read, header)
      const all = { generatesPasswords: false, limit: Number.POSITIVE_INFINITY }
      const planned = findFirstRequests(read.users.map(plannedSteps), all)
      return { topic: 'users', kind: usersPlan, header, view, differences, planned }
    }
    const { readPlanFile, settingsPlan } = await import('../../settings/plan-file.ts')
    const { coverageOf, plannedRequests, resultOf } = await import('../../settings/plan.ts')
    const header = readPlanFile(plan, version, key)
    const view = differenceView({ ...coverageOf(header.plan), record: { ...header, now } })
    const [differences, planned]: [object, PlannedRequest[]] = [
      resultOf(header.plan),
      plannedRequests(header.plan),
    ]
    return { topic: 'settings', kind: settingsPlan, header, view, differences, planned }
  }
}
