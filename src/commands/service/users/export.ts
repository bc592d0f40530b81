import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { userExportView } from '../../../view/service.ts'
import { dataFlags } from '../service-flags.ts'

export default class ServiceUsersExport extends BaseCommand {
  static override summary = 'Export everything that is known of a user as JSON'
  static override description =
    'The export has the user, their preferences, conversations, API keys, trusts, sign-in sessions, and entries of the audit log. It contains no password, key, or other secret.'
  static override requests = serviceData
  static override view = userExportView
  static override examples = [
    {
      description: 'Export to a file',
      command: 'chatctl service users export grace@example.com > grace.json',
    },
    { description: 'Print the keys', command: 'chatctl service users export usr_admin --jq .keys' },
  ]
  static override args = { user: requiredArgument('Email address or ID of the user') }
  static override flags = { ...dataFlags }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceUsersExport)
    const administration = await context.administration.openToRead(flags)
    await context.output.show(userExportView, await administration.exportUser(args.user))
  }
}
