import { userDetailsView } from '../../../view/service.ts'
import { changeFlags, ServiceCommand, userArgument } from '../service-command.ts'

export default class ServiceUsersEnable extends ServiceCommand {
  static override summary = 'Give a disabled user access again'
  static override description =
    'API keys and trusts that were not revoked are valid again. The user signs in again, with the same password and second factor.'
  static override view = userDetailsView
  static override examples = ServiceCommand.toExamples({
    'Enable a user': 'chatctl service users enable grace@example.com',
    'Try it': 'chatctl service users enable grace@example.com --dry-run',
  })
  static override args = userArgument
  static override flags = changeFlags

  async run(): Promise<void> {
    const { args, context, administration } = await this.startOnData(ServiceUsersEnable)
    const user = await administration.describeUser(args.user)
    if (context.dryRun) return this.showLocalChange({ enable: user })
    await context.output.show(userDetailsView, await administration.enableUser(user.id))
  }
}
