import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import { readConfigurationKey } from '../../cli/configuration-key.ts'
import { localWork } from '../../cli/requests.ts'
import { dryRunFlag } from '../../cli/shared-flags.ts'
import { adviseSignOut } from '../../cli/sign-in/sign-out-profile.ts'
import { type Configuration, changeConfiguration } from '../../config/configuration-file.ts'
import { configurationKeys, withValue } from '../../config/configuration-keys.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { configValueView } from '../../view/config.ts'

export default class ConfigSet extends BaseCommand {
  static override summary = 'Set a default of a profile; a new profile begins with its first value.'
  static override description =
    `Without --profile the default profile is meant, and "local" where there is none. Keys: ${configurationKeys.join(', ')}.`
  static override requests = localWork
  static override completes = { key: 'configuration key', value: 'configuration value' } as const
  static override view = configValueView
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
    value: Args.string({ description: 'Its value; KEY=VALUE will do as well.', ignoreStdin: true }),
  }
  static override flags = { 'dry-run': dryRunFlag }
  protected override readonly mayNameNewProfile = true
  protected override readonly standsBrokenConfiguration = true

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigSet)
    const [name, text] = readAssignment(args.key, args.value)
    const key = readConfigurationKey(name, context, { command: 'set', value: text })
    const profile = context.options.profile.value ?? localProfile
    const set = (configuration: Configuration) => withValue(configuration, profile, key, text)
    const change = { profile: key === 'default_profile' ? null : profile, key, value: text }
    if (context.dryRun) set(context.configuration)
    else await changeConfiguration(context.directories, set)
    await context.output.show(configValueView, change)
    if (key === 'base_url' && !context.dryRun) adviseSignOut(context, profile, text)
  }
}

/** As `settings set` takes it, too. @throws Failure `usage` where there is no value */
function readAssignment(key: string, value: string | undefined): [key: string, value: string] {
  if (value !== undefined) return [key, value]
  const at = key.indexOf('=')
  if (at > 0) return [key.slice(0, at), key.slice(at + 1)]
  throw new Failure('usage', `Missing value for ${key}`, {
    hint: `Remove the key with: chatctl config unset ${key}`,
  })
}
