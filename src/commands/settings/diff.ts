import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor, commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { differenceExitCode } from '../../cli/errors/exit-codes.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { markdownOutputFlag } from '../../cli/flags/shared-flags.ts'
import { readSources, settingsFileArgument, settingsFilesFlags } from '../../cli/input/read-sources.ts'
import {
  findSealKey,
  type KeyFlags,
  planFlags,
  type SaveFlags,
  sealKeyForSave,
} from '../../cli/input/seal-key.ts'
import { localProfile } from '../../config/resolve-options.ts'
import type { SettingsFile } from '../../contract/resources/settings-file.ts'
import type { SettingsSource } from '../../settings/file/read-settings-files.ts'
import type { Part } from '../../settings/plan.ts'
import { describeRecord } from '../../view/plan-record.ts'
import { appliedView, differenceView, type IgnoredKeys, type PrintedChange } from '../../view/settings.ts'
import { planNotAlone, readWanted } from './settings-change.ts'

export const saveFlag = textFlag({ helpValue: 'FILE', summary: 'Write a plan for settings apply' })

export default class SettingsDiff extends BaseCommand {
  static override summary = 'Show what a settings file would change, or a saved plan'
  static override description =
    'Only the keys in the file are compared. If several files are given, later files override earlier ones. Nothing is changed. A saved plan is shown without contacting the service.'
  static override requests = calls('getSettings')
  static override view = appliedView
  static override offersMarkdown = true
  static override examples = BaseCommand.toExamples({
    'Show the differences': 'chatctl settings diff settings.yaml',
    'Check for differences in CI': 'chatctl settings diff base.yaml --file production.yaml --exit-code',
    'Save a plan to apply later': 'chatctl settings diff settings.yaml --save settings.plan',
    'Show a saved plan as a Markdown table': 'chatctl settings diff settings.plan -o markdown',
  })
  static override args = { file: settingsFileArgument }
  static override flags = {
    ...settingsFilesFlags,
    save: saveFlag,
    ...planFlags,
    output: markdownOutputFlag,
    'exit-code': Flags.boolean({ summary: 'Exit with code 10 if there are differences' }),
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(SettingsDiff)
    const sources = await readSources([args.file, ...(flags.file ?? [])], context)
    const { settingsPlan } = await import('../../settings/plan-file.ts')
    const { isPlan } = await import('../../system/files/saved-plan.ts')
    const saved = sources.find(({ text }) => isPlan(text, settingsPlan))
    if (saved) {
      if (sources.length > 1 || flags['expand-env'] || flags.save !== undefined)
        throw planNotAlone(saved.name, '--expand-env, or --save', commandLine('settings', 'diff', saved.name))
      const changes = await showPlan(saved, flags, this.config.version, context)
      if (flags['exit-code'] && changes > 0) this.exitCode = differenceExitCode
      return
    }
    const wanted = { ...(await readWanted(sources, flags, context)), files: sources.length }
    const changes = await showComparison(wanted, flags, this.config.version, context)
    if (flags['exit-code'] && changes.length > 0) this.exitCode = differenceExitCode
  }
}

/**
 * Compares wanted settings with the service, saves a plan with `--save`, and shows the differences.
 * @returns the changes
 */
export async function showComparison(
  { file, ...about }: { file: SettingsFile; ignored?: IgnoredKeys; files?: number; isSaved?: boolean },
  flags: SaveFlags,
  toolVersion: string,
  context: Context,
): Promise<readonly PrintedChange[]> {
  const { output, clock } = context
  const sealKey = sealKeyForSave(flags, context)
  const { compareSettings } = await import('../../settings/compare-settings.ts')
  const { coverageOf, resultOf, undocumentedIn } = await import('../../settings/plan.ts')
  const { plan, serial } = await compareSettings(context, file)
  if (flags.save !== undefined) {
    const { composePlanFile, settingsPlan } = await import('../../settings/plan-file.ts')
    const { savePlan } = await import('../../system/files/saved-plan.ts')
    const text = composePlanFile({ ...plan, serial }, toolVersion, clock, flags['valid-for'])
    await savePlan(context.resolvePath(flags.save), text, settingsPlan, sealKey)
  }
  const result = resultOf(plan)
  await output.show(differenceView({ ...coverageOf(plan), ...about }), result)
  if (flags.save !== undefined) {
    const command = applyCommand(flags.save, undocumentedIn(plan).length > 0, context)
    output.notice(`The plan is in ${flags.save}. Apply it with: ${command}`)
  }
  return result.changes
}

/** Output formats that describe the plan too, rather than only list its changes. */
const documents = ['json', 'yaml', 'markdown'] as const

/** Shows a saved plan. The service is not contacted. @returns the number of changes */
async function showPlan(
  source: SettingsSource,
  flags: KeyFlags & { only: Part | undefined },
  toolVersion: string,
  context: Context,
): Promise<number> {
  const { only } = flags
  const { readPlanFile, refusalOf } = await import('../../settings/plan-file.ts')
  const { coverageOf, partOfPlan, resultOf } = await import('../../settings/plan.ts')
  const { output } = context
  const saved = readPlanFile(source, toolVersion, findSealKey(flags, context))
  const { plan, ignored } = partOfPlan(saved.plan, only, source.name)
  const refusal =
    refusalOf(context, saved, source.name, { toolVersion, only }) ??
    (await context.approval.checkSignature(source, context.options.approvers.value))
  if (refusal) await output.warn(`settings apply refuses this plan here: ${refusal.message}`)
  const { created_at, tool: made_by, valid_until } = saved
  const record = { ...saved, now: context.clock.now() }
  const view = differenceView({ ...coverageOf(plan), record, ignored })
  const result = resultOf(plan)
  const refused = refusal !== undefined
  const described = { created_at, service: plan.service, made_by, refused, valid_until }
  const format = context.options.output.value
  const isDescribed = output.showsText(view) || documents.some((known) => known === format)
  if (!isDescribed) output.notice(describeRecord(record))
  await output.show(view, { ...result, plan: described })
  return result.changes.length
}

/** Names the embedded service if nothing selects it: `settings apply` requires that without a terminal. */
function applyCommand(plan: string, hasUnknownKeys: boolean, context: Context): string {
  const target = context.target()
  const local = target.kind === 'local' && !target.named ? ['--profile', localProfile] : []
  const allowed = hasUnknownKeys ? ['--allow-unknown-keys'] : []
  return commandFor(context, 'settings', 'apply', plan, ...allowed, ...local)
}
