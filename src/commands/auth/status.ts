import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { credentialInUse, fetchAccount } from '../../cli/credential/credential-in-use.ts'
import { calls } from '../../cli/documented-requests.ts'
import { authStatusView } from '../../view/auth.ts'

export default class AuthStatus extends BaseCommand {
  static override summary = 'Show the credential in use and whether it is valid'
  static override requests = calls('getProfile')
  static override view = authStatusView
  static override examples = BaseCommand.toExamples({
    'Check the credential': 'chatctl auth status',
    'Show it without a request': 'chatctl auth status --no-verify --json',
    'Check another profile': 'chatctl auth status --profile work',
  })
  static override flags = {
    verify: Flags.boolean({ allowNo: true, default: true, summary: 'Check the credential with the service' }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthStatus)
    const target = context.target()
    const describe = async () => ({
      profile: context.options.profile.value ?? (target.kind === 'local' ? 'local' : null),
      profile_from: profileFrom(context.options.profile),
      base_url: target.kind === 'local' ? null : target.baseUrl,
      service: target.kind === 'local' ? 'embedded' : 'remote',
      ...(await credentialInUse(target, context.credentials.signedIn(), context.credentials.held())),
    })
    const status = await describe()
    if (!flags.verify) return context.output.show(authStatusView, { ...status, verified: false })
    const { user, expiresAt } = await fetchAccount(await context.connect())
    // The credential may have been renewed or obtained for the question.
    const current = { ...(await describe()), ...(expiresAt !== undefined && { expires_at: expiresAt }) }
    await context.output.show(authStatusView, { ...current, verified: true, user })
  }
}

/** Why this profile is in use. The default profile needs no reason. */
function profileFrom({ source, from }: Context['options']['profile']): string | null {
  return source === 'flag' || source === 'environment' || source === 'directory' ? from : null
}
