import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { argument } from '../../cli/flags/flag-types.ts'
import { missingSetting, refuseMisspelledSetting } from '../../cli/input/settings-assignments.ts'
import { Failure } from '../../contract/failure.ts'
import { valueAt } from '../../contract/notation/tree.ts'
import { valueView } from '../../view/format/view.ts'
import { settingsView } from '../../view/settings.ts'

export default class SettingsGet extends BaseCommand {
  static override summary = 'Show the settings, or one value'
  static override requests = calls('getSettings')
  static override completes = { key: 'settings key' } as const
  static override view = settingsView
  static override otherViews = { KEY: valueView }
  static override examples = BaseCommand.toExamples({
    'Show all settings': 'chatctl settings get',
    'Print one value': 'chatctl settings get theme.mode',
    'Save the settings as JSON': 'chatctl settings get --json > settings.json',
  })
  static override args = { key: argument('Key or group of keys, such as theme.mode or theme') }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(SettingsGet)
    if (args.key !== undefined && flags.fields !== undefined) {
      throw new Failure('usage', 'KEY and --fields cannot be combined')
    }
    if (args.key !== undefined) refuseMisspelledSetting(args.key)
    const client = await context.connect()
    const response = await client.settings.get()
    if (args.key === undefined) return context.show(settingsView, response)
    const value = valueAt(response.body, args.key)
    if (value === undefined) throw missingSetting(args.key)
    await context.show(valueView, { ...response, body: value })
  }
}
