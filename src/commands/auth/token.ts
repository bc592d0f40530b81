import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { tokenView } from '../../view/auth.ts'
import { exchangeFlags, obtainToken } from './exchanged-token.ts'

export default class AuthToken extends BaseCommand {
  static override summary = 'Print the credential in use, or one with fewer permissions'
  static override description =
    'An expired token is renewed first. Anyone who has the credential can act as you. No other command prints a stored credential. With --permission or --for, chatctl exchanges it for a new token, which has at most its permissions and ends with it. The embedded service allows at most 12h, and 1h after a sign-in; another service needs token exchange (RFC 8693).'
  static override requests = {
    ...calls(),
    note: 'none to the service; a token that is about to expire is renewed at its authorization server. With CHATCTL_OIDC, --permission, or --for, a token is requested there.',
  }
  static override view = tokenView
  static override examples = BaseCommand.toExamples({
    'Store the credential in a shell variable': 'TOKEN="$(chatctl auth token)"',
    'Print a token for a script that only reads conversations':
      'chatctl auth token --permission read:chat --for 1h',
    'Print the credential and its expiry time': 'chatctl auth token --profile work --json',
  })

  static override flags = exchangeFlags

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthToken)
    if (flags.permission || flags.for !== undefined) {
      const { access_token: token, expires_at = null } = (await obtainToken(context, flags)).tokens
      return context.output.show(tokenView, { token, kind: 'oauth', expires_at })
    }
    const { secret: token, kind, expires_at = null } = await context.credentials.usable()
    await context.output.show(tokenView, { token, kind, expires_at })
  }
}
