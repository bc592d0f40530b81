import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor, commandLine, commandWith } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { HeldRequests } from '../../cli/context/held-request.ts'
import { calls } from '../../cli/documented-requests.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { readSources, settingsFileArgument, settingsFilesFlags } from '../../cli/input/read-sources.ts'
import { findSealKey, type KeyFlags, sealKeyFlag } from '../../cli/input/seal-key.ts'
import { Failure } from '../../contract/failure.ts'
import { settingsSerialHeader } from '../../contract/headers.ts'
import type { ApplicationSettings } from '../../contract/resources/settings.ts'
import type { SettingsSource } from '../../settings/file/read-settings-files.ts'
import type { SentConfiguration } from '../../settings/plan.ts'
import { appliedView } from '../../view/settings.ts'
import {
  confirmPlan,
  lockingFor,
  planNotAlone,
  planServiceOf,
  type ReadingFlags,
  readWanted,
  settingsIn,
} from './settings-change.ts'

export default class SettingsApply extends BaseCommand {
  static override summary = 'Apply a settings file or a saved plan'
  static override description =
    'Only the keys that differ are sent, and then read back. The exit code is 7 if a change did not take effect, and 69 if its outcome is unknown. If a key of the file has changed on the service since the differences were shown, or the plan was saved, nothing is sent, and the exit code is 7.'
  static override requests = {
    ...calls('getSettings', 'updateSettings', 'setApiConfiguration'),
    note: 'then reads the settings back.',
  }
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
    const files = [args.file, ...(flags.file ?? [])].filter((name) => name !== undefined)
    const sources = await readSources(files, context)
    const service = planServiceOf(context)
    const { wanted, saved, ignored } = await this.#read(sources, service, flags, context)
    // Before the differences are shown: those of another service would be misleading.
    context.demandNamedService()

    const { coverageOf, makePlan, resultOf } = await import('../../settings/plan.ts')
    const { readSent } = await import('../../settings/settings-history.ts')
    const { markApplied } = await import('../../system/files/saved-plan.ts')
    const { assertCurrent, confirmAndApply } = await import('../../settings/apply/apply-plan.ts')

    const client = await context.connect()
    const response = await client.settings.get()
    const current = await settingsIn(response, context)
    const { clock } = context.host
    const planFor = (now: ApplicationSettings, sent: SentConfiguration | undefined) =>
      makePlan(service, wanted, now, sent, clock)
    const isAsSaved = saved !== undefined && !flags.refresh
    const plan = isAsSaved ? saved.plan : planFor(current, readSent(context.directories, service))
    const driftHint = flags.refresh
      ? 'Run the same command again.'
      : context.options.approvers.value !== undefined
        ? `Make a new plan, and let it be approved: ${commandFor(context, 'settings', 'diff', 'FILE', '--save', 'PLAN')}`
        : `Compare with the current settings, and apply the differences, with: ${commandWith(this, {})} --refresh`
    const serial = response.headers[settingsSerialHeader]
    if (isAsSaved) assertCurrent(plan, current, readSent(context.directories, service), driftHint, serial)

    const held = new HeldRequests()
    const done = await confirmAndApply(plan, {
      settings: client.settings,
      clock,
      ...lockingFor(context),
      driftHint,
      check: commandFor(context, 'settings', 'get'),
      confirm: (shown) => {
        const about = { isSaved: isAsSaved, files: files.length, ignored }
        return confirmPlan({ ...resultOf(shown), ...coverageOf(shown), ...about }, flags.yes, context)
      },
      ...(flags.refresh && {
        replan: async (now, sent) => {
          context.output.notice('The settings have changed. These are the new differences.')
          context.sentChanges.settingsBefore = now
          return planFor(now, sent)
        },
      }),
      // Must not fail, because the changes are not verified yet.
      onChanged:
        saved &&
        (async () => {
          try {
            markApplied(context.directories, saved.id, flags.only)
          } catch (error) {
            await context.output.warn((error as Error).message)
          }
        }),
      hold: context.dryRun ? held.hold : undefined,
    })
    if (held.all.length > 0) return this.showHeldRequests(held.all)
    const result = resultOf(done)
    const applied = result.changes.length > 0
    if (!applied) context.output.notice('No changes: the service already has these settings.')
    await context.output.show(appliedView, { ...result, applied })
  }

  /** The desired settings, and the plan if the file is a plan. */
  async #read(
    sources: SettingsSource[],
    service: string,
    flags: ReadingFlags & KeyFlags & { refresh: boolean },
    context: Context,
  ) {
    const { readPlanFile, refusalOf, settingsPlan } = await import('../../settings/plan-file.ts')
    const { isApplied, isPlan } = await import('../../system/files/saved-plan.ts')
    const { partOfPlan, parts, settingsFileOf, undocumentedIn } = await import('../../settings/plan.ts')
    const { only, refresh } = flags
    const plan = sources.find(({ text }) => isPlan(text, settingsPlan))
    if (!plan) {
      context.approval.demand('settings')
      const { file, ignored } = await readWanted(sources, flags, context)
      return { wanted: file, ignored }
    }
    if (sources.length > 1 || flags['expand-env'])
      throw planNotAlone(plan.name, 'or --expand-env', commandLine('settings', 'apply', plan.name))
    await context.approval.verify(plan, 'settings', refresh ? '--refresh' : undefined)
    const { directories, host } = context
    const about = {
      directories,
      service,
      toolVersion: this.config.version,
      now: host.clock.now(),
      refresh,
      only,
    }
    const saved = readPlanFile(plan, about.toolVersion, findSealKey(flags, context))
    const refusal = refusalOf(saved, plan.name, about)
    if (refusal) throw refusal
    const part = partOfPlan(saved.plan, only, plan.name)
    const [unknown] = undocumentedIn(part.plan)
    if (unknown !== undefined && !flags['allow-unknown-keys']) {
      const words = `${plan.name} contains the undocumented setting ${unknown}`
      throw new Failure('refused', words, { advice: [{ code: 'allow_unknown_keys' }] })
    }
    // The part that this machine has applied has moved the serial.
    const isBegun = parts.some((one) => isApplied(directories, saved.id, one))
    const kept = isBegun ? { ...part.plan, serial: undefined } : part.plan
    const { ignored } = part
    return { wanted: settingsFileOf(kept), saved: { ...saved, plan: kept }, ignored }
  }
}
