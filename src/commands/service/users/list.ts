import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { userListView } from '../../../view/service.ts'
import { dataFlags } from '../service-flags.ts'

export default class ServiceUsersList extends BaseCommand {
  static override summary = 'List the users of the embedded service'
  static override description = 'Run it on the machine of the service: the HTTP interface cannot list users.'
  static override requests = serviceData
  static override view = { ...userListView, json: 'list' as const }
  static override examples = [
    { description: 'List the users', command: 'chatctl service users list' },
    { description: 'Print the email addresses', command: "chatctl service users list --jq '.[].email'" },
  ]
  static override flags = { ...dataFlags }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceUsersList)
    const administration = await context.administration.openToRead(flags)
    await context.output.show(userListView, await administration.listAccounts())
  }
}
