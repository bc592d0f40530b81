import { BaseCommand } from '../../cli/base-command.ts'
import type { Settings, SettingsPatch } from '../../contract/settings.ts'
import { applicableSettings, settingsKeys } from '../../contract/settings-keys.ts'
import { settingsFileView } from '../../view/settings-file.ts'
import { valueAt } from '../../view/view.ts'

export default class SettingsExport extends BaseCommand {
  static override summary = 'Print the settings as a file to start from.'
  static override description =
    'YAML with a comment for each setting; --json gives the same without comments. Only what can be set again is in it.'
  static override examples = ['<%= config.bin %> settings export > settings.yaml']

  async run(): Promise<void> {
    const { context } = await this.start(SettingsExport, settingsFileView)
    const client = await context.connect()
    const answer = await client.settings.get()
    const body = applicableSettings(answer.body ?? {})
    const left = keysLeftOut(answer.body ?? {}, body)
    await context.show(settingsFileView, { ...answer, body })
    if (left.length > 0) {
      context.output.notice(`Left out, since what the service has could not be set again: ${left.join(', ')}`)
    }
  }
}

/** The documented keys of which the service has a value that it would not take. */
function keysLeftOut(settings: Settings, applicable: SettingsPatch): string[] {
  return settingsKeys
    .map(({ path }) => path)
    .filter((path) => (valueAt(settings, path) ?? null) !== null && valueAt(applicable, path) === undefined)
}
