import { lstatSync } from 'node:fs'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import { describeFirst, showFirst } from '../../cli/context/first-requests.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { requiredArgument, textFlag } from '../../cli/flags/flag-types.ts'
import { yesFlag } from '../../cli/flags/shared-flags.ts'
import { readTextFile } from '../../cli/input/read-input.ts'
import { findSealKey, sealKeyFlag } from '../../cli/input/seal-key.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { replaceFile } from '../../system/files/replace-file.ts'
import type { SealKey } from '../../system/files/sealed-plan.ts'
import { pathView } from '../../view/config.ts'
import type { PlannedRequest } from '../../view/dry-run.ts'
import { differenceView } from '../../view/settings.ts'
import { userDifferenceView } from '../../view/user-differences.ts'
import { recordOf } from '../settings/diff.ts'

export default class PlanApprove extends BaseCommand {
  static override summary = 'Show a saved plan, and sign it with an SSH key'
  static override description =
    'Shows the plan, asks for confirmation, signs the file with ssh-keygen, and writes PLAN.sig. If a profile has the option approvers, settings apply and users apply require a signature by one of them. For a key in an SSH agent, give its .pub file.'
  static override requests = { ...localWork, effect: 'changes this machine' as const }
  static override view = pathView
  static override examples = [
    {
      description: 'Approve a plan of settings',
      command: 'chatctl plan approve settings.plan --key ~/.ssh/id_ed25519',
    },
    {
      description: 'Approve a sealed plan',
      command: 'chatctl plan approve sealed.plan --key ~/.ssh/id_ed25519 --seal-key-file seal.key',
    },
  ]
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
    const { topic, view, body, requests } = await this.#read(plan, findSealKey(flags, context), clock)
    await output.showAside(view, body, !flags.yes && prompter.canAsk)
    await showFirst(context, describeFirst(context, requests), requests.length)
    if (!flags.yes) await prompter.confirm(`Sign ${args.plan} with ${flags.key}?`)
    const { signText } = await import('../../system/ssh-signature.ts')
    const onTouch = (text: string) => output.notice(text)
    const running = { env, cwd, clock, untilEnded, signal }
    const signature = await signText(plan, flags.key, onTouch, running)
    const name = `${args.plan}.sig`
    const path = context.resolvePath(name)
    const isReplaced = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    try {
      replaceFile(path, signature, { flush: true })
    } catch (cause) {
      if (cause instanceof Failure) throw cause
      throw new Failure('storage', `Cannot write ${name}: ${describeSystemError(cause)}`, { cause })
    }
    await output.show(pathView, { path: name })
    if (isReplaced) output.notice(`Replaced the earlier ${name}.`)
    output.notice(`Apply the plan with: ${commandFor(context, topic, 'apply', args.plan)}`)
  }

  /** What is signed, as the command with which it was made shows it, and every request that applies it. */
  async #read(plan: { name: string; text: string }, key: SealKey | undefined, clock: Clock) {
    const { isPlan } = await import('../../system/files/saved-plan.ts')
    const { readUsersPlan, usersPlan } = await import('../../users/users-plan-file.ts')
    if (isPlan(plan.text, usersPlan)) {
      const { plannedSteps, printedDifferences } = await import('../../users/apply/users-plan.ts')
      const { findFirstRequests } = await import('../../users/planned-work.ts')
      const read = readUsersPlan(plan, this.config.version, key)
      const body = printedDifferences(read, read.header)
      const all = { generatesPasswords: false, limit: Number.POSITIVE_INFINITY }
      const requests = findFirstRequests(read.users.map(plannedSteps), all)
      return { topic: 'users', view: userDifferenceView, body, requests }
    }
    const { readPlanFile } = await import('../../settings/plan-file.ts')
    const { coverageOf, requestsOf, resultOf } = await import('../../settings/plan.ts')
    const saved = readPlanFile(plan, this.config.version, key)
    const view = differenceView({ ...coverageOf(saved.plan), record: recordOf(saved, clock) })
    const { patch, configuration } = requestsOf(saved.plan)
    const requests: PlannedRequest[] = []
    if (patch) requests.push({ ...endpoints.updateSettings, line: undefined, body: patch })
    if (configuration)
      requests.push({ ...endpoints.setApiConfiguration, line: undefined, body: configuration })
    return { topic: 'settings', view, body: resultOf(saved.plan), requests }
  }
}
