import { userDetailsView } from '../../../view/service.ts'
import { ServiceCommand, userArgument } from '../service-command.ts'

export default class ServiceUsersShow extends ServiceCommand {
  static override summary = 'Show a user of the embedded service'
  static override description =
    'Shows when the user was last active, and how many credentials, conversations, and messages the service stores. Keys and tokens count if they are not revoked and have not expired.'
  static override view = userDetailsView
  static override examples = ServiceCommand.toExamples({
    'Show a user': 'chatctl service users show grace@example.com',
    'Show the built-in admin': 'chatctl service users show usr_admin',
  })
  static override args = userArgument

  async run(): Promise<void> {
    const { args, context, administration } = await this.startOnData(ServiceUsersShow)
    await context.output.show(userDetailsView, await administration.describeUser(args.user))
  }
}
