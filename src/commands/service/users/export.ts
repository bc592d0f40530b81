import { userExportView } from '../../../view/service.ts'
import { ServiceCommand, userArgument } from '../service-command.ts'

export default class ServiceUsersExport extends ServiceCommand {
  static override summary = 'Export all that is known of a user as JSON'
  static override description =
    'The export has the user, their preferences, conversations, API keys, trusts, sign-in sessions, and entries of the audit log. It contains no password, key, or other secret.'
  static override view = userExportView
  static override examples = ServiceCommand.toExamples({
    'Export to a file': 'chatctl service users export grace@example.com > grace.json',
    'Print the keys': 'chatctl service users export usr_admin --jq .keys',
  })
  static override args = userArgument

  async run(): Promise<void> {
    const { args, context, administration } = await this.startOnData(ServiceUsersExport)
    await context.output.show(userExportView, await administration.exportUser(args.user))
  }
}
