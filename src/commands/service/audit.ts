import { textFlag } from '../../cli/flags/flag-types.ts'
import { allRows, rowLimitFlag, rowsToShow } from '../../cli/flags/shared-flags.ts'
import { auditView, describeChange } from '../../view/service.ts'
import { dataFlags, ServiceCommand } from './service-command.ts'
import { pastFlag } from './service-flags.ts'

export default class ServiceAudit extends ServiceCommand {
  static override summary = 'Show the audit log of the embedded service'
  static override description =
    'Lists changes to users, permissions, keys, trusts, and settings, and the sign-ins and sign-outs of users, oldest first. The actor of a change made with chatctl on the machine of the service is "machine:" and the system user. That of a rejected identity token and of a failed sign-in is "anonymous".'
  static override view = auditView
  static override examples = ServiceCommand.toExamples({
    'Show the last week': 'chatctl service audit --since 7d',
    'Show the last 10 changes to keys': 'chatctl service audit --action key --limit 10',
    'Show the changes to a user': 'chatctl service audit --target ada@example.com --json',
  })
  static override flags = {
    since: pastFlag({ summary: 'Only entries since a time: 7d, 12h, or 2026-01-31 (UTC)' }),
    until: pastFlag({ summary: 'Only entries before a time' }),
    actor: textFlag({
      helpValue: 'ACTOR',
      summary:
        'Only changes by this user (ID, email, machine, machine:NAME, or anonymous) or API key (ID or name)',
    }),
    action: textFlag({
      helpValue: 'ACTION',
      summary: 'Only this action, such as key.create, or key for all actions on keys',
    }),
    target: textFlag({ helpValue: 'TARGET', summary: 'Only changes to this user, trust, or ID' }),
    limit: rowLimitFlag('entries; the newest are shown', 50, 'with --since or --json, all'),
    ...dataFlags,
  }

  async run(): Promise<void> {
    const { flags, context, administration } = await this.startOnData(ServiceAudit)
    const { since, until, actor, action, target } = flags
    const limit = rowsToShow(flags.limit, context.output, since === undefined ? 50 : allRows)
    const query = { since, until, actor, action, target, limit }
    const changes = await administration.listChanges(query)
    const entries = changes.map((entry) => ({ ...entry, change: describeChange(entry.before, entry.after) }))
    await context.output.show(auditView, entries)
    const all = changes.length < limit ? changes.length : await administration.countChanges(query)
    if (all > changes.length)
      context.output.notice(`Showing the newest ${limit} of ${all} entries. Show all with: --limit ${all}`)
  }
}
