import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/requests.ts'
import { settingsDocument, settingsKeys } from '../../contract/settings-keys.ts'
import { settingsFileView } from '../../view/settings-file.ts'
import { valueAt } from '../../view/view.ts'

export default class SettingsExport extends BaseCommand {
  static override summary = 'Print the settings as a file to start from.'
  static override description =
    'Prints YAML with a comment for each setting. What the service has and chatctl cannot set is in a comment at the end; with --json, below $unmanaged. settings diff and settings apply ignore it.'
  static override requests = calls('getSettings')
  static override view = settingsFileView
  static override examples = ['<%= config.bin %> settings export > settings.yaml']

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
