import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { type Configuration, changeConfiguration } from '../../config/configuration-file.ts'
import { withValue } from '../../config/configuration-keys.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { defaultProfileView } from '../../view/config.ts'
import { noticeDirectory } from './list.ts'

export default class AuthUse extends LocalCommand {
  static override summary = 'Set the default profile'
  static override completes = { profile: 'profile' } as const
  static override view = defaultProfileView
  static override examples = LocalCommand.toExamples({
    'Use a profile by default': 'chatctl auth use work',
    'Use the embedded service by default': 'chatctl auth use local',
    'Show the change without making it': 'chatctl auth use work --dry-run',
  })
  static override args = { profile: requiredArgument('Name of the profile') }
  static override flags = { 'dry-run': dryRunFlag }

  // So that an unknown default profile can be corrected.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { args, context } = await this.start(AuthUse)
    const set = (configuration: Configuration) =>
      withValue(configuration, localProfile, 'default_profile', args.profile)
    const change = { profile: null, key: 'default_profile', value: args.profile }
    if (context.dryRun) {
      set(context.configuration)
      return this.showLocalChange(change)
    }
    await changeConfiguration(context.directories, set)
    await context.output.show(defaultProfileView, change)
    noticeDirectory(context)
  }
}
