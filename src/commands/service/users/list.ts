import { textFlag } from '../../../cli/flags/flag-types.ts'
import { rowLimitFlag, rowsToShow } from '../../../cli/flags/shared-flags.ts'
import { userListView } from '../../../view/service.ts'
import { dataFlags, ServiceCommand } from '../service-command.ts'
import { pastFlag } from '../service-flags.ts'

export default class ServiceUsersList extends ServiceCommand {
  static override summary = 'List the users of the embedded service'
  static override description = 'Run it on the machine of the service: the HTTP interface cannot list users.'
  static override view = { ...userListView, json: 'list' as const }
  static override examples = ServiceCommand.toExamples({
    'List the users': 'chatctl service users list',
    'List the admins': 'chatctl service users list --role admin',
    'Print the email addresses': "chatctl service users list --jq '.[].email'",
  })
  static override flags = {
    role: textFlag({ helpValue: 'NAME', summary: 'Only users with this role, such as admin' }),
    search: textFlag({
      helpValue: 'TEXT',
      summary: 'Only users with this text in the email address or the name',
    }),
    since: pastFlag({ summary: 'Only users created since a time: 7d, 12h, or 2026-01-31 (UTC)' }),
    limit: rowLimitFlag('users; the newest are shown', 50),
    ...dataFlags,
  }

  async run(): Promise<void> {
    const { flags, context, administration } = await this.startOnData(ServiceUsersList)
    const all = await administration.listAccounts(flags)
    const limit = rowsToShow(flags.limit, context.output, 50)
    await context.output.show(userListView, all.slice(-limit))
    if (all.length > limit)
      context.output.notice(
        `Showing the newest ${limit} of ${all.length} users. Show all with: --limit ${all.length}`,
      )
  }
}
