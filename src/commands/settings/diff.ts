import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { differenceExitCode } from '../../cli/exit-codes.ts'
import { textFlag } from '../../cli/flag-types.ts'
import { expandEnvFlag, readSources, settingsFileFlag } from '../../cli/input/read-sources.ts'
import { planServiceOf, settingsIn } from '../../cli/settings-change.ts'
import { markdownOutputFlag } from '../../cli/shared-flags.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { appliedView, differenceView } from '../../view/settings-plan.ts'

export default class SettingsDiff extends BaseCommand {
  static override summary = 'Show what applying a settings file would change'
  static override description =
    'Only the keys in the file are compared. If several files are given, later files override earlier ones. Nothing is changed.'
  static override requests = calls('getSettings')
  static override view = appliedView
  static override offersMarkdown = true
  static override examples = [
    { description: 'Show the differences', command: 'chatctl settings diff settings.yaml' },
    {
      description: 'Check for drift in CI',
      command: 'chatctl settings diff base.yaml --file production.yaml --exit-code',
    },
    {
      description: 'Save a plan to apply later',
      command: 'chatctl settings diff settings.yaml --save settings.plan',
    },
  ]
  static override args = {
    file: Args.string({
      description: 'Settings file in YAML or JSON, or - for stdin (required without --file)',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    file: settingsFileFlag(),
    'expand-env': expandEnvFlag,
    save: textFlag({ helpValue: 'FILE', summary: 'Write a plan for settings apply' }),
    output: markdownOutputFlag,
    'exit-code': Flags.boolean({ summary: 'Exit with code 10 if there are differences' }),
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(SettingsDiff)
    const sources = await readSources([args.file, ...(flags.file ?? [])], context)
    const { composePlanFile, isPlanFile, savePlan } = await import('../../plan/plan-file.ts')
    const plan = sources.find(({ text }) => isPlanFile(text))
    if (plan) {
      throw new Failure('usage', `${plan.name} is a plan, not a settings file`, {
        hint: `Show and apply it with: chatctl settings apply ${plan.name}`,
      })
    }
    const { readSettingsFiles } = await import('../../plan/file/read-settings-files.ts')
    const file = readSettingsFiles(sources, flags['expand-env'] ? context.env : undefined)

    const client = await context.connect()
    const current = await settingsIn(await client.settings.get(), context)
    const { coverageOf, makePlan, resultOf } = await import('../../plan/plan.ts')
    const { readSent } = await import('../../plan/apply/sent-configuration.ts')
    const service = planServiceOf(context)
    const made = makePlan(service, file, current, readSent(context.directories, service), context.host.clock)
    if (flags.save !== undefined) {
      await savePlan(
        context.resolvePath(flags.save),
        composePlanFile(made, this.config.version, context.host.clock),
      )
      context.output.notice(
        `The plan is in ${flags.save}. Apply it with: ${applyCommand(flags.save, context)}`,
      )
    }
    const result = resultOf(made)
    await context.output.show(differenceView({ ...coverageOf(made), files: sources.length }), result)
    if (flags['exit-code'] && result.changes.length > 0) this.exitCode = differenceExitCode
  }
}

/** Names the embedded service if nothing selects it: `settings apply` requires that without a terminal. */
function applyCommand(plan: string, context: Context): string {
  const target = context.target()
  const local = target.kind === 'local' && !target.named ? ['--profile', localProfile] : []
  return commandFor(context, 'settings', 'apply', plan, ...local)
}
