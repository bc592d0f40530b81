import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import { demandConfigurationKey } from '../../cli/input/configuration-key.ts'
import { dryRunFlag } from '../../cli/shared-flags.ts'
import { type Configuration, changeConfiguration } from '../../config/configuration-file.ts'
import { configurationKeys, withValue } from '../../config/configuration-keys.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { configValueView } from '../../view/config.ts'

export default class ConfigSet extends BaseCommand {
  static override summary = 'Set a default of a profile; a new profile begins with its first value.'
  static override description =
    `Without --profile the default profile is meant, and "local" where there is none. Keys: ${configurationKeys.join(', ')}.`
  static override examples = [
    '<%= config.bin %> config set base_url https://chat.example --profile work',
    '<%= config.bin %> config set default_profile work',
  ]
  static override args = {
    key: Args.string({
      description: 'Such as base_url or default_profile.',
      required: true,
      ignoreStdin: true,
    }),
    value: Args.string({ description: 'Its value.', required: true, ignoreStdin: true }),
  }
  static override flags = { 'dry-run': dryRunFlag }
  protected override readonly mayNameNewProfile = true
  protected override readonly standsBrokenConfiguration = true

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigSet, configValueView)
    const key = demandConfigurationKey(args.key)
    const profile = context.options.profile.value ?? localProfile
    const set = (configuration: Configuration) => withValue(configuration, profile, key, args.value)
    const change = { profile: key === 'default_profile' ? null : profile, key, value: args.value }
    if (context.dryRun) set(context.configuration)
    else await changeConfiguration(set)
    await context.output.show(configValueView, change)
    const before = context.configuration.profiles?.[profile]?.base_url
    if (key === 'base_url' && before !== undefined && originOf(before) !== originOf(args.value)) {
      context.output.notice(
        `If profile "${profile}" is signed in, then to ${before} only. To forget that: chatctl auth logout --profile ${profile} --base-url ${before}`,
      )
    }
  }
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}
