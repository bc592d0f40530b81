import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { userDetailsView } from '../../../view/service.ts'
import { dataFlags } from '../service-flags.ts'

export default class ServiceUsersShow extends BaseCommand {
  static override summary = 'Show a user of the embedded service'
  static override description =
    'Shows when the user was last active, and how many credentials, conversations, and messages the service stores. Keys and tokens count if they are not revoked and have not expired.'
  static override requests = serviceData
  static override view = userDetailsView
  static override examples = [
    { description: 'Show a user', command: 'chatctl service users show grace@example.com' },
    { description: 'Show the built-in admin', command: 'chatctl service users show usr_admin' },
  ]
  static override args = { user: requiredArgument('Email address or ID of the user') }
  static override flags = { ...dataFlags }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceUsersShow)
    const administration = await context.administration.openToRead(flags)
    await context.output.show(userDetailsView, await administration.describeUser(args.user))
  }
}
