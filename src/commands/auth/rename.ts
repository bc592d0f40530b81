import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { type Configuration, changeConfiguration } from '../../config/configuration-file.ts'
import { withRenamedProfile } from '../../config/configuration-keys.ts'
import { renamedProfileView } from '../../view/auth.ts'

export default class AuthRename extends LocalCommand {
  static override summary = 'Rename a profile'
  static override description =
    'The profile keeps its credential, chat sessions, and mirrors. The default profile and the directories of the profile get the new name. The ledger (chatctl activity) keeps the old name.'
  static override completes = { profile: 'profile' } as const
  static override view = renamedProfileView
  static override examples = LocalCommand.toExamples({
    'Show the change without making it': 'chatctl auth rename work acme --dry-run',
    'Rename a profile': 'chatctl auth rename work acme',
  })
  static override args = {
    profile: requiredArgument('Name of the profile'),
    name: requiredArgument('New name'),
  }
  static override flags = { 'dry-run': dryRunFlag }
  // The default profile may be one that was renamed in the file.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { args, context } = await this.start(AuthRename)
    const { profile: from, name: to } = args
    const rename = (configuration: Configuration) => withRenamedProfile(configuration, from, to)
    if (context.dryRun) {
      rename(context.configuration)
      return this.showLocalChange({ rename: from, name: to })
    }
    await changeConfiguration(context.directories, rename)
    await context.output.show(renamedProfileView, { profile: to, former_name: from })
  }
}
