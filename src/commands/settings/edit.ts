import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { describeFirst } from '../../cli/context/first-requests.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { editDocument, keepEdit } from '../../cli/input/edit-document.ts'
import { allowUnknownKeysFlag } from '../../cli/input/read-sources.ts'
import { Failure } from '../../contract/failure.ts'
import { settingsDocument } from '../../contract/resources/settings-file.ts'
import { appliedView } from '../../view/settings.ts'
import { settingsFileView } from '../../view/settings-file-view.ts'
import { applyRequests } from './settings-change.ts'

const fileName = 'settings.yaml'

export default class SettingsEdit extends BaseCommand {
  static override summary = 'Edit the settings in your editor and apply the changes'
  static override description =
    'The file has the format of settings export. Only the keys you change are sent; a key that you remove is not changed. The editor is $VISUAL, $EDITOR, or vi (notepad on Windows).'
  static override requests = applyRequests
  static override view = appliedView
  static override examples = BaseCommand.toExamples({
    'Edit and apply': 'chatctl settings edit',
    'Print the requests without sending them': 'chatctl settings edit --dry-run',
    'Edit the settings of another profile': 'chatctl settings edit --profile work',
  })
  static override flags = { 'allow-unknown-keys': allowUnknownKeysFlag, yes: yesFlag, 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { flags, context } = await this.start(SettingsEdit)
    context.approval.demand('settings')
    const command = context.env['VISUAL'] || context.env['EDITOR'] || undefined
    demandEditor(context, flags.yes || context.dryRun, command)
    const allowsUnknownKeys = flags['allow-unknown-keys']
    const { readCurrentSettings } = await import('../../settings/compare-settings.ts')
    const { readSettingsFiles } = await import('../../settings/file/read-settings-files.ts')
    const { readSent } = await import('../../settings/settings-history.ts')
    const { confirmAndApply } = await import('../../settings/apply/apply-plan.ts')
    const { changedPlan, makePlan, plannedRequests, resultOf } = await import('../../settings/plan.ts')

    const { response, settings } = await readCurrentSettings(context)
    await context.warnOfResponse(response)
    const original = String(settingsFileView.text?.(settingsDocument(settings)))
    const allowed = allowsUnknownKeys ? ['--allow-unknown-keys'] : []
    const useWith = (path: string) => commandFor(context, 'settings', 'apply', path, ...allowed)
    const giveUp = (text: string, error: unknown) =>
      keepEdit(text, error, context, { name: 'settings', extension: 'yaml', useWith })
    const read = (text: string) => readSettingsFiles([{ name: fileName, text }], { allowsUnknownKeys })
    // Before the editor, whose text would be lost.
    const sent = readSent(context)
    const edited = await editDocument(original, { fileName, command, read, giveUp }, context)
    if (!edited) return unchanged(context)
    const plan = changedPlan(makePlan(context.service, edited.value, settings, sent, context.clock))
    const result = resultOf(plan)
    if (result.changes.length === 0) return unchanged(context)
    try {
      await confirmAndApply(context, plan, {
        yes: flags.yes,
        hint: 'Another client is changing the settings.',
      })
    } catch (error) {
      throw giveUp(edited.text, error)
    }
    if (context.dryRun)
      return this.showHeldRequests(describeFirst(plannedRequests(plan), context.contextOwner().baseUrl))
    await context.output.show(appliedView, { ...result, applied: true })
  }
}

/** @throws Failure `input_needed` in a non-interactive run without --yes and an editor */
function demandEditor(context: Context, isAgreed: boolean, command: string | undefined): void {
  if (context.prompter.canAsk || (isAgreed && command !== undefined)) return
  throw new Failure('input_needed', 'An editor requires a terminal', {
    hint: 'Pass --yes, and set EDITOR to a program that edits without a terminal.',
  })
}

async function unchanged({ output }: Context): Promise<void> {
  output.notice('No changes.')
  await output.show(appliedView, { changes: [], applied: false })
}
