import { BaseCommand } from '../../cli/base-command.ts'
import { applicableSettings } from '../../contract/settings-keys.ts'
import { settingsFileView } from '../../view/settings-file.ts'

export default class SettingsExport extends BaseCommand {
  static override summary = 'Print the settings as a file to start from.'
  static override description =
    'YAML with a comment for each setting; --json gives the same without comments. Only what can be set again is in it.'
  static override examples = ['<%= config.bin %> settings export > settings.yaml']

  async run(): Promise<void> {
    const { context } = await this.start(SettingsExport, settingsFileView)
    const client = await context.connect()
    const answer = await client.settings.get()
    await context.show(settingsFileView, { ...answer, body: applicableSettings(answer.body ?? {}) })
  }
}
