import { LocalCommand } from '../../cli/local-command.ts'
import { settingsJsonSchema } from '../../contract/resources/settings-file.ts'
import { documentView } from '../../view/format/view.ts'

export default class SettingsSchema extends LocalCommand {
  static override summary = 'Print the JSON Schema of a settings file'
  static override view = documentView
  static override examples = LocalCommand.toExamples({
    'Save the schema for your editor': 'chatctl settings schema > settings.schema.json',
    'Print it as YAML': 'chatctl settings schema -o yaml',
  })

  async run(): Promise<void> {
    const { context } = await this.start(SettingsSchema)
    await context.output.show(documentView, settingsJsonSchema())
  }
}
