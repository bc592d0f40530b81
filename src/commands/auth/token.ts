import { secretOf } from '../../auth/credentials/stored-credential.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { noCredential } from '../../cli/credential/credential-in-use.ts'
import { calls } from '../../cli/documented-requests.ts'
import { Failure } from '../../contract/failure.ts'
import { tokenView } from '../../view/auth.ts'

export default class AuthToken extends BaseCommand {
  static override summary = 'Print the credential in use'
  static override description =
    'An expired token is renewed first. Anyone who has the credential can act as you. No other command prints a stored credential.'
  static override requests = {
    ...calls(),
    note: 'none to the service; a token that is about to expire is renewed at its authorization server. With CHATCTL_OIDC, a token is requested there.',
  }
  static override view = tokenView
  static override examples = [
    { description: 'Store the credential in a shell variable', command: 'TOKEN="$(chatctl auth token)"' },
    {
      description: 'Print the credential and its expiry time',
      command: 'chatctl auth token --profile work --json',
    },
  ]

  async run(): Promise<void> {
    const { context } = await this.start(AuthToken)
    const target = context.target()
    if (target.kind === 'local') {
      throw new Failure('usage', 'The API key of the embedded service is valid only while a command runs', {
        hint: 'Create a permanent key with: chatctl service keys create NAME',
      })
    }
    const { fromEnvironment } = target
    if (fromEnvironment) {
      const { secret } = fromEnvironment
      return context.output.show(tokenView, { token: secret, kind: 'api_key', expires_at: null })
    }
    const held = await context.credentials.held()?.usable()
    if (held) {
      const { secret, kind, expires_at = null } = held
      return context.output.show(tokenView, { token: secret, kind, expires_at })
    }
    const credential = await context.credentials.signedIn()?.usable()
    if (!credential) throw noCredential(target)
    const { kind, expires_at = null } = credential
    const shown = { token: secretOf(credential), kind, expires_at }
    await context.output.show(tokenView, shown)
  }
}
