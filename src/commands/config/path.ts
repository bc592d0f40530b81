import { LocalCommand } from '../../cli/local-command.ts'
import { configurationPath } from '../../config/configuration-file.ts'
import { pathView } from '../../view/config.ts'

export default class ConfigPath extends LocalCommand {
  static override summary = 'Print the path of the configuration file'
  static override view = pathView
  static override examples = LocalCommand.toExamples({
    'Print the path': 'chatctl config path',
    'Print the path as JSON': 'chatctl config path --json',
  })
  protected override readonly toleratesInvalidConfiguration = true

  async run(): Promise<void> {
    const { context } = await this.start(ConfigPath)
    await context.output.show(pathView, { path: configurationPath(context.directories) })
  }
}
