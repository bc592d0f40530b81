import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { describeUser, userDetailsView } from '../../../view/service.ts'
import { confirmedFlags, keepAuditFlag } from '../service-flags.ts'

export default class ServiceUsersDelete extends BaseCommand {
  static override summary = 'Delete a user permanently'
  static override description =
    'Also deletes the conversations, API keys, trusts, and sign-in sessions of the user. In the audit log, a pseudonym replaces the user, and names, email addresses, and network addresses are erased. Backups are not changed. The built-in admin, and the last admin who can sign in, cannot be deleted.'
  static override requests = serviceData
  static override view = userDetailsView
  static override examples = [
    { description: 'Delete a user', command: 'chatctl service users delete henry@example.com' },
    { description: 'Try it', command: 'chatctl service users delete grace@example.com --dry-run' },
  ]
  static override args = { user: requiredArgument('Email address or ID of the user') }
  static override flags = { 'keep-audit': keepAuditFlag, ...confirmedFlags }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceUsersDelete)
    const administration = await context.administration.openToChange(flags)
    const user = await administration.describeUser(args.user, true)
    if (context.dryRun) return this.showLocalChange({ delete: user })
    if (!flags.yes) await context.prompter.confirm(`Delete ${describeUser(user)}, permanently?`)
    const deleted = await administration.deleteUser(user.id, flags['keep-audit'])
    await context.output.show(userDetailsView, deleted)
  }
}
