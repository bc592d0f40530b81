import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { valueView } from '../../view/format/view.ts'
import { listOptions, readConfigurationKey } from './configuration-options.ts'

export default class ConfigGet extends LocalCommand {
  static override summary = 'Print the value of an option'
  static override description = 'An option without a value prints an empty line.'
  static override completes = { key: 'configuration key' } as const
  static override view = valueView
  static override examples = LocalCommand.toExamples({
    'Print the base URL': 'chatctl config get base_url',
    'Print the model of another profile': 'chatctl config get model --profile work',
  })
  static override args = { key: requiredArgument('Name of the option, such as base_url') }

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigGet)
    const key = readConfigurationKey(args.key, context)
    const row = listOptions(context).find((option) => option.key === key)
    await context.output.show(valueView, row?.value ?? null)
  }
}
