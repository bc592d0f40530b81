import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { removedProfileView } from '../../view/auth.ts'

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
  static override examples = [
    { description: 'Show what would be removed', command: 'chatctl auth remove work --dry-run' },
    { description: 'Remove a profile without confirmation', command: 'chatctl auth remove work --yes' },
  ]
  static override args = {
    profile: Args.string({ description: 'Name of the profile', required: true, ignoreStdin: true }),
  }
  static override flags = { yes: yesFlag, 'dry-run': dryRunFlag }
  // The profile may be the default profile, or that of the working directory.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(AuthRemove)
    const { profile } = args
    const { planRemoval, removeProfile } = await import('./remove-profile.ts')
    const removal = planRemoval(context, profile)
    const { places, isDefault, directories } = removal
    if (context.dryRun) {
      const signOut = places.map(({ baseUrl }) => baseUrl)
      return this.showLocalChange({ remove: profile, sign_out: signOut, default: isDefault, directories })
    }
    if (!flags.yes) await context.prompter.confirm(`Remove the profile "${profile}" and its credentials?`)
    const { revokeTokens } = await import('../../auth/token-endpoint.ts')
    const signOuts = await removeProfile(context, profile, removal, revokeTokens)
    const body = { profile, default: isDefault, directories, sign_outs: signOuts }
    await context.output.show(removedProfileView, body)
    if (isDefault) {
      context.output.notice(
        'There is no default profile now, so commands use the embedded service. Choose another with: chatctl auth use NAME',
      )
    }
  }
}
