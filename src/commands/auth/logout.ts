import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { dryRunFlag, yesFlag } from '../../cli/shared-flags.ts'
import { sayWhatComesFirst } from '../../cli/sign-in/say-what-comes-first.ts'
import { chooseSignOuts, type SignOutRow, signOutProfile } from '../../cli/sign-in/sign-out-profile.ts'
import type { TokenSet } from '../../credentials/stored-credential.ts'
import { Failure } from '../../failure.ts'
import { logoutView } from '../../view/auth.ts'

export default class AuthLogout extends BaseCommand {
  static override summary = 'Sign out: forget the credential, and revoke a token where the server can.'
  static override description =
    'The profile stays, with its address and defaults. An API key is forgotten here and goes on being valid at the service.'
  static override examples = [
    '<%= config.bin %> auth logout --profile work',
    '<%= config.bin %> auth logout --all --yes',
  ]
  static override flags = {
    all: Flags.boolean({ summary: 'Every profile; asks first.' }),
    yes: yesFlag,
    'dry-run': dryRunFlag,
  }

  protected override readonly takesProfileOfAddress = true

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthLogout, logoutView)
    const connections = chooseSignOuts(context, flags.all)
    const profiles = connections.map(({ profile }) => profile)
    if (context.dryRun) return this.showLocalChange({ sign_out: profiles })
    if (flags.all && !flags.yes && profiles.length > 0) {
      await context.prompter.confirm(`Sign out of ${profiles.join(', ')}?`)
    }
    const { signOut } = await import('../../auth/sign-out.ts')
    const rows: SignOutRow[] = []
    const revoke = (tokens: TokenSet) => signOut(tokens, context.transport)
    let failure: Failure | undefined
    for (const connection of connections) {
      try {
        rows.push(await signOutProfile(context, connection, revoke))
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        // The others are not to be kept for that.
        failure ??= error
      }
    }
    if (rows.length > 0 || !failure) await context.output.show(logoutView, rows)
    if (failure) throw failure
    sayWhatComesFirst(context)
  }
}
