import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { changeConfiguration } from '../../config/configuration-file.ts'
import { withoutProfile } from '../../config/configuration-keys.ts'
import { removedProfileView, type SignedOut } from '../../view/auth.ts'
import { signOutProfile } from './sign-out-profile.ts'

export default class AuthRemove extends BaseCommand {
  static override summary = 'Remove a profile and its credentials'
  static override description =
    'Tokens are revoked if the authorization server supports it; an API key stays valid. Chat sessions and mirrors of the profile stay on this machine.'
  static override requests = {
    ...calls(),
    note: 'none to the service; a token is revoked at its authorization server.',
  }
  static override completes = { profile: 'profile' } as const
  static override view = removedProfileView
  static override examples = BaseCommand.toExamples({
    'Show what would be removed': 'chatctl auth remove work --dry-run',
    'Remove a profile without confirmation': 'chatctl auth remove work --yes',
  })
  static override args = { profile: requiredArgument('Name of the profile') }
  static override flags = { yes: yesFlag, 'dry-run': dryRunFlag }
  // The profile may be the default profile, or that of the working directory.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(AuthRemove)
    const { profile } = args
    const {
      configuration,
      directories,
      output,
      credentials: { stores },
    } = context
    withoutProfile(configuration, profile)
    const places = stores.placesOf(profile)
    const isDefault = configuration.default_profile === profile
    const named = Object.entries(configuration.directories ?? {}).filter(([, name]) => name === profile)
    const about = { default: isDefault, directories: named.map(([directory]) => directory) }
    if (context.dryRun) {
      const addresses = new Set(places.map(({ baseUrl }) => baseUrl))
      return this.showLocalChange({ remove: profile, sign_out: [...addresses], ...about })
    }
    if (!flags.yes) await context.prompter.confirm(`Remove the profile "${profile}" and its credentials?`)
    const signOuts: SignedOut[] = []
    for (const place of places) {
      // Throws if the credential cannot be deleted. The profile, which knows it, then remains.
      const row = await signOutProfile(context, place)
      if (row.signed_out) signOuts.push(row)
    }
    await changeConfiguration(directories, (now) => withoutProfile(now, profile))
    await output.show(removedProfileView, { profile, ...about, sign_outs: signOuts })
    if (isDefault) {
      output.notice(
        'There is no default profile now, so commands use the embedded service. Choose another with: chatctl auth use NAME',
      )
    }
  }
}
