import { BaseCommand } from '../../cli/base-command.ts'
import { listOptions } from '../../cli/list-options.ts'
import { localWork } from '../../cli/requests.ts'
import { configListView } from '../../view/config.ts'

export default class ConfigList extends BaseCommand {
  static override summary = 'Show every option in force, and where each came from.'
  static override description =
    'A flag goes before the environment, that before the profile, that before the default.'
  static override requests = localWork
  static override view = configListView
  static override examples = [
    '<%= config.bin %> config list',
    '<%= config.bin %> config list --profile work --json',
  ]

  async run(): Promise<void> {
    const { context } = await this.start(ConfigList)
    await context.output.show(configListView, listOptions(context))
  }
}
