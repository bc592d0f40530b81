import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import { calls } from '../../cli/documented-requests.ts'
import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { planFlags } from '../../cli/input/seal-key.ts'
import { Failure } from '../../contract/failure.ts'
import { valueText } from '../../view/changes.ts'
import { appliedView } from '../../view/settings.ts'
import { saveFlag, showComparison } from './diff.ts'

export default class SettingsRevert extends BaseCommand {
  static override summary = 'Make a plan that reverts a change of settings'
  static override description =
    'ID is that of settings history, without --service. Shows what restores the values before that change, and saves it as a plan with --save. A warning names each key that has changed since. Nothing is sent until settings apply applies the plan.'
  static override requests = calls('getSettings')
  static override view = appliedView
  static override examples = BaseCommand.toExamples({
    'Show what reverts a change': 'chatctl settings revert CHANGE_ID',
    'Save it as a plan': 'chatctl settings revert CHANGE_ID --save revert.plan',
  })
  static override args = { id: requiredArgument('ID of the change') }
  static override flags = { save: saveFlag, ...planFlags }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(SettingsRevert)
    const { fileBefore, readSentKeys } = await import('../../settings/settings-history.ts')
    const keys = readSentKeys(context).filter(({ id, outcome }) => id === args.id && outcome !== 'refused')
    if (keys.length === 0) {
      throw new Failure('not_found', `No change of these settings has the ID ${args.id}`, {
        hint: `List the changes with: ${commandFor(context, 'settings', 'history')}`,
      })
    }
    const made = await showComparison(
      { file: fileBefore(keys), isSaved: true },
      flags,
      this.config.version,
      context,
    )
    const { isSameValue } = await import('../../settings/plan.ts')
    for (const { path, from } of made) {
      const after = keys.find((key) => key.path === path)?.after
      if (!isSameValue(path, from, after))
        await context.output.warn(`${path} was changed since, from ${valueText(after)} to ${valueText(from)}`)
    }
  }
}
