import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { withoutValue } from '../../config/configuration-keys.ts'
import { configValueView } from '../../view/config.ts'
import { changeOption, profileOfKey, readConfigurationKey } from './configuration-options.ts'

export default class ConfigUnset extends LocalCommand {
  static override summary = 'Remove a default from a profile'
  static override description =
    'Without --profile, the value is removed from the profile of the working directory, else from the default profile, else from "local". To see the value that now applies, run: chatctl config list'
  static override completes = { key: 'configuration key' } as const
  static override view = configValueView
  static override examples = LocalCommand.toExamples({
    'Remove the output format': 'chatctl config unset output',
    'Remove the model of another profile': 'chatctl config unset model --profile work',
    'Remove the default profile': 'chatctl config unset default_profile',
  })
  static override args = { key: requiredArgument('Name of the option, such as output') }
  static override flags = { 'dry-run': dryRunFlag }
  protected override readonly toleratesInvalidConfiguration = true

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigUnset)
    const key = readConfigurationKey(args.key, context)
    const profile = profileOfKey(key, context)
    await changeOption(context, { profile, key, value: null }, (before) => withoutValue(before, profile, key))
  }
}
