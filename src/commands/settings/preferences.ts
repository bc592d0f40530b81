import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { preferencesView } from '../../view/settings.ts'

export default class SettingsPreferences extends BaseCommand {
  static override summary = 'Show your preferences'
  static override description = 'To change them, use: chatctl users settings set'
  static override requests = calls('getPreferences')
  static override view = preferencesView
  static override examples = BaseCommand.toExamples({
    'Show your preferences': 'chatctl settings preferences',
    'Print them as JSON': 'chatctl settings preferences --json',
  })

  async run(): Promise<void> {
    const { context } = await this.start(SettingsPreferences)
    const client = await context.connect()
    await context.show(preferencesView, await client.settings.preferences())
  }
}
