import { describeUser, userDetailsView } from '../../../view/service.ts'
import { confirmedFlags, ServiceCommand, userArgument } from '../service-command.ts'

export default class ServiceUsersDisable extends ServiceCommand {
  static override summary = 'End the access of a user'
  static override description =
    'Within a second, every service process refuses the API keys, access tokens, and trusts of the user, and ends running replies. Sign-in sessions and access tokens end permanently. API keys and trusts are valid again once the user is enabled. The built-in admin, and the last admin who can sign in, cannot be disabled.'
  static override view = userDetailsView
  static override examples = ServiceCommand.toExamples({
    'Disable a user': 'chatctl service users disable grace@example.com',
    'Try it': 'chatctl service users disable grace@example.com --dry-run',
  })
  static override args = userArgument
  static override flags = confirmedFlags

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceUsersDisable)
    const user = await administration.describeUser(args.user, true)
    if (context.dryRun) return this.showLocalChange({ disable: user })
    if (!flags.yes) await context.prompter.confirm(`Disable ${describeUser(user)}?`)
    await context.output.show(userDetailsView, await administration.disableUser(user.id))
  }
}
