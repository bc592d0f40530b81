import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import { readConfigurationKey } from '../../cli/configuration-key.ts'
import { listOptions } from '../../cli/list-options.ts'
import { localWork } from '../../cli/requests.ts'
import { valueView } from '../../view/value.ts'

export default class ConfigGet extends BaseCommand {
  static override summary = 'Print the value of one option; an empty line where it has none.'
  static override requests = localWork
  static override completes = { key: 'configuration key' } as const
  static override view = valueView
  static override examples = [
    '<%= config.bin %> config get base_url',
    '<%= config.bin %> config get model --profile work',
  ]
  static override args = {
    key: Args.string({ description: 'Such as base_url.', required: true, ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigGet)
    const key = readConfigurationKey(args.key, context, { command: 'get' })
    const row = listOptions(context).find((option) => option.key === key)
    await context.output.show(valueView, row?.value ?? null)
  }
}
