import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor, commandLine, commandWith } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { describeFirst } from '../../cli/context/first-requests.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { readSources, settingsFileArgument, settingsFilesFlags } from '../../cli/input/read-sources.ts'
import { findSealKey, type KeyFlags, sealKeyFlag } from '../../cli/input/seal-key.ts'
import type { SettingsSource } from '../../settings/file/read-settings-files.ts'
import { appliedView } from '../../view/settings.ts'
import { applyRequests, planNotAlone, type ReadingFlags, readWanted } from './settings-change.ts'

export default class SettingsApply extends BaseCommand {
  static override summary = 'Apply a settings file or a saved plan'
  static override description =
    'Only the keys that differ are sent, and then read back. The exit code is 7 if a change did not take effect, and 69 if its outcome is unknown. If a key of the file has changed on the service since the differences were shown, or the plan was saved, nothing is sent, and the exit code is 7.'
  static override requests = applyRequests
  static override view = appliedView
  static override examples = BaseCommand.toExamples({
    'Apply a file after confirmation': 'chatctl settings apply settings.yaml',
    'Apply two files in CI': 'chatctl settings apply base.yaml --file production.yaml --yes',
    'Apply a saved plan': 'chatctl settings apply settings.plan --yes',
  })
  static override args = { file: settingsFileArgument }
  static override flags = {
    ...settingsFilesFlags,
    refresh: Flags.boolean({
      summary: 'If the settings have changed since the comparison, compare and apply again',
    }),
    ...sealKeyFlag,
    yes: yesFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(SettingsApply)
    const names = [args.file, ...(flags.file ?? [])].filter((name) => name !== undefined)
    const sources = await readSources(names, context)
    const { file, saved, ignored } = await this.#read(sources, flags, context)
    // Before the differences are shown: those of another service would be misleading.
    context.demandNamedService()
    const { applySettings } = await import('../../settings/apply/apply-plan.ts')
    const { plannedRequests, resultOf } = await import('../../settings/plan.ts')
    const isAsSaved = saved !== undefined && !flags.refresh
    const plan = await applySettings(context, isAsSaved ? saved : { file }, {
      yes: flags.yes,
      hint: this.#nextStep(flags.refresh, context),
      refresh: flags.refresh ? file : undefined,
      saved: saved && { id: saved.id, only: flags.only },
      about: { isSaved: isAsSaved, files: names.length, ignored },
    })
    const result = resultOf(plan)
    const isChanged = result.changes.length > 0
    if (isChanged && context.dryRun)
      return this.showHeldRequests(describeFirst(plannedRequests(plan), context.contextOwner().baseUrl))
    if (!isChanged) context.output.notice('No changes: the service already has these settings.')
    await context.output.show(appliedView, { ...result, applied: isChanged })
  }

  /** If the settings have changed since the comparison. */
  #nextStep(isRefreshed: boolean, context: Context): string {
    if (isRefreshed) return 'Run the same command again.'
    const save = commandFor(context, 'settings', 'diff', 'FILE', '--save', 'PLAN')
    return context.options.approvers.value === undefined
      ? `Compare with the current settings, and apply the differences, with: ${commandWith(this, {})} --refresh`
      : `Make a new plan, and let it be approved: ${save}`
  }

  /** The desired settings, and the plan if the file is a plan. */
  async #read(
    sources: SettingsSource[],
    flags: ReadingFlags & KeyFlags & { refresh: boolean },
    context: Context,
  ) {
    const { readPlanToApply, settingsPlan } = await import('../../settings/plan-file.ts')
    const { isPlan } = await import('../../system/files/saved-plan.ts')
    const { settingsFileOf } = await import('../../settings/plan.ts')
    const { only, refresh } = flags
    const plan = sources.find(({ text }) => isPlan(text, settingsPlan))
    if (!plan) {
      context.approval.demand('settings')
      return { ...(await readWanted(sources, flags, context)), saved: undefined }
    }
    if (sources.length > 1 || flags['expand-env'])
      throw planNotAlone(plan.name, 'or --expand-env', commandLine('settings', 'apply', plan.name))
    await context.approval.verify(plan, 'settings', refresh ? '--refresh' : undefined)
    const saved = readPlanToApply(context, plan, {
      toolVersion: this.config.version,
      key: findSealKey(flags, context),
      allowsUnknownKeys: flags['allow-unknown-keys'],
      ...{ refresh, only },
    })
    return { file: settingsFileOf(saved.plan), saved, ignored: saved.ignored }
  }
}
