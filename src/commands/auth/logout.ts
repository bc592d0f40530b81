import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { noticeCredentialPrecedence } from '../../cli/credential/credential-in-use.ts'
import { calls } from '../../cli/documented-requests.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { Failure } from '../../contract/failure.ts'
import { logoutView, type SignedOut } from '../../view/auth.ts'
import { chooseSignOuts, signOutProfile } from './sign-out-profile.ts'

export default class AuthLogout extends BaseCommand {
  static override summary = 'Sign out and delete the credential'
  static override description =
    'The token is revoked if the authorization server supports it; an API key stays valid. The profile keeps its base URL and defaults, but no credential command. The credential is also deleted if it is for an earlier address of the profile; with --base-url, only one for that address is deleted.'
  static override requests = {
    ...calls(),
    note: 'none to the service; a token is revoked at its authorization server.',
  }
  static override view = logoutView
  static override examples = BaseCommand.toExamples({
    'Sign out of a profile': 'chatctl auth logout --profile work',
    'Delete the credential for one base URL':
      'chatctl auth logout --profile work --base-url https://old.example',
    'Sign out of every profile': 'chatctl auth logout --all --yes',
  })
  static override flags = {
    all: Flags.boolean({ summary: 'Sign out of every profile and base URL, after confirmation' }),
    yes: yesFlag,
    'dry-run': dryRunFlag,
  }

  protected override readonly takesProfileOfAddress = true

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthLogout)
    const places = chooseSignOuts(context, flags.all)
    if (context.dryRun) {
      const shown = places.map(({ profile, baseUrl, storage }) => ({ profile, base_url: baseUrl, storage }))
      return this.showLocalChange({ sign_out: shown })
    }
    if (flags.all && !flags.yes && places.length > 0) {
      const names = new Set(places.map(({ profile, baseUrl }) => `${profile} (${baseUrl})`))
      await context.prompter.confirm(`Sign out of ${[...names].join(', ')}?`)
    }
    const rows: SignedOut[] = []
    let failure: Failure | undefined
    for (const place of places) {
      try {
        rows.push(await signOutProfile(context, place))
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        // Continue with the others.
        failure ??= error
      }
    }
    for (const row of rows)
      if (!row.signed_out) context.output.notice(`Profile "${row.profile}" was not signed in.`)
    if (rows.length > 0 || !failure) await context.output.show(logoutView, rows)
    if (failure) throw failure
    noticeCredentialPrecedence(context)
  }
}
