import { LocalCommand } from '../../cli/local-command.ts'
import { configListView } from '../../view/config.ts'
import { listOptions } from './configuration-options.ts'

export default class ConfigList extends LocalCommand {
  static override summary = 'List all options and where their values come from'
  static override view = configListView
  static override examples = LocalCommand.toExamples({
    'List the options': 'chatctl config list',
    'List the options of another profile as JSON': 'chatctl config list --profile work --json',
    'Show only values and sources': 'chatctl config list --fields key,value,source',
  })

  async run(): Promise<void> {
    const { context } = await this.start(ConfigList)
    await context.output.show(configListView, listOptions(context))
  }
}
