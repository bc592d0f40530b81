import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/requests.ts'
import { databaseFlag, dataFlag } from '../../../cli/service-flags.ts'
import { accountView } from '../../../view/service.ts'

export default class ServiceUsersList extends BaseCommand {
  static override summary = 'List the users of the embedded service, on its machine.'
  static override description =
    'The interface has no request for that, so that only the machine of the service can tell.'
  static override requests = serviceData
  static override view = accountView
  static override examples = [
    '<%= config.bin %> service users list',
    `<%= config.bin %> service users list --jq '.[] | select(.role == "admin") | .email'`,
  ]
  static override flags = { data: dataFlag, database: databaseFlag }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceUsersList)
    const administration = await context.lookAround(flags)
    await context.output.show(accountView, await administration.listAccounts())
  }
}
