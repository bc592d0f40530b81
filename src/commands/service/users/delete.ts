import { describeUser, userDetailsView } from '../../../view/service.ts'
import { confirmedFlags, ServiceCommand, userArgument } from '../service-command.ts'
import { keepAuditFlag } from '../service-flags.ts'

export default class ServiceUsersDelete extends ServiceCommand {
  static override summary = 'Delete a user permanently'
  static override description =
    'Also deletes the conversations, API keys, trusts, and sign-in sessions of the user. In the audit log, a pseudonym replaces the user, and names, email addresses, and network addresses are erased. Backups are not changed. The built-in admin, and the last admin who can sign in, cannot be deleted.'
  static override view = userDetailsView
  static override examples = ServiceCommand.toExamples({
    'Delete a user': 'chatctl service users delete henry@example.com',
    'Try it': 'chatctl service users delete grace@example.com --dry-run',
  })
  static override args = userArgument
  static override flags = { 'keep-audit': keepAuditFlag, ...confirmedFlags }

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceUsersDelete)
    const user = await administration.describeUser(args.user, true)
    if (context.dryRun) return this.showLocalChange({ delete: user })
    if (!flags.yes) await context.prompter.confirm(`Delete ${describeUser(user)}, permanently?`)
    const deleted = await administration.deleteUser(user.id, flags['keep-audit'])
    await context.output.show(userDetailsView, deleted)
  }
}
