import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { settingsDocument, settingsKeys } from '../../contract/resources/settings-file.ts'
import { valueAt } from '../../view/format/view.ts'
import { settingsFileView } from '../../view/settings-file-view.ts'

export default class SettingsExport extends BaseCommand {
  static override summary = 'Print the settings as a settings file'
  static override description =
    'The file is YAML with a comment for each setting. Settings that the interface does not document, and values that chatctl cannot set, are comments, or under $unmanaged with --json. To apply an undocumented setting, remove its # and pass --allow-unknown-keys.'
  static override requests = calls('getSettings')
  static override view = settingsFileView
  static override examples = [
    { description: 'Save the settings to a file', command: 'chatctl settings export > settings.yaml' },
    { description: 'Save them as JSON', command: 'chatctl settings export --json > settings.json' },
    {
      description: 'Export the settings of another profile',
      command: 'chatctl settings export --profile work > work.yaml',
    },
  ]

  async run(): Promise<void> {
    const { context } = await this.start(SettingsExport)
    const client = await context.connect()
    const answer = await client.settings.get()
    const body = settingsDocument(answer.body ?? {})
    await context.show(settingsFileView, { ...answer, body })
    const invalid = settingsKeys
      .map(({ path }) => path)
      .filter((path) => valueAt(body.$unmanaged, path) != null)
    if (invalid.length > 0) {
      context.output.notice(`chatctl cannot set these values of the service: ${invalid.join(', ')}`)
    }
  }
}
