import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { credentialInUse, fetchAccount } from '../../cli/sign-in/credential-in-use.ts'
import { authStatusView } from '../../view/auth.ts'

export default class AuthStatus extends BaseCommand {
  static override summary = 'Show the credential in use and whether it is valid'
  static override requests = calls('getProfile')
  static override view = authStatusView
  static override examples = [
    { description: 'Check the credential', command: 'chatctl auth status' },
    { description: 'Show it without a request', command: 'chatctl auth status --no-verify --json' },
    { description: 'Check another profile', command: 'chatctl auth status --profile work' },
  ]
  static override flags = {
    verify: Flags.boolean({
      allowNo: true,
      default: true,
      summary: 'Check the credential with the service',
    }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthStatus)
    const target = context.target()
    const describe = async () => ({
      profile: context.options.profile.value ?? (target.kind === 'local' ? 'local' : null),
      base_url: target.kind === 'local' ? null : target.baseUrl,
      service: target.kind === 'local' ? 'embedded' : 'remote',
      ...(await credentialInUse(target, context.signedIn(), context.held())),
    })
    const status = await describe()
    if (!flags.verify) return context.output.show(authStatusView, { ...status, verified: false })
    const user = await fetchAccount(await context.connect())
    // The credential may have been renewed or obtained for the question.
    await context.output.show(authStatusView, { ...(await describe()), verified: true, user })
  }
}
