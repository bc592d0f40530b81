import { BaseCommand } from '../../cli/base-command.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { settingsJsonSchema } from '../../contract/resources/settings-file.ts'
import { documentView } from '../../view/format/view.ts'

export default class SettingsSchema extends BaseCommand {
  static override summary = 'Print the JSON Schema of a settings file'
  static override requests = localWork
  static override view = documentView
  static override examples = BaseCommand.toExamples({
    'Save the schema for your editor': 'chatctl settings schema > settings.schema.json',
    'Print it as YAML': 'chatctl settings schema -o yaml',
  })

  async run(): Promise<void> {
    const { context } = await this.start(SettingsSchema)
    await context.output.show(documentView, settingsJsonSchema())
  }
}
