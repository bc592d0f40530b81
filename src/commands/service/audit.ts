import { BaseCommand } from '../../cli/base-command.ts'
import { integerFlag, textFlag } from '../../cli/flag-types.ts'
import { serviceData } from '../../cli/requests.ts'
import { databaseFlag, dataFlag, pastFlag } from '../../cli/service-flags.ts'
import { auditView, describeChange } from '../../view/audit.ts'

export default class ServiceAudit extends BaseCommand {
  static override summary = 'Show who changed what in the embedded service.'
  static override description =
    'Changes of users, permissions, keys, settings and sign-ins, oldest first. What was done with chatctl on the machine of the service has the actor "machine".'
  static override requests = serviceData
  static override view = auditView
  static override examples = [
    '<%= config.bin %> service audit --since 7d',
    '<%= config.bin %> service audit --action key --limit 10',
    '<%= config.bin %> service audit --target ada@example.com --json',
  ]
  static override flags = {
    since: pastFlag({ summary: 'Only what is not older: 7d or 12h ago, or 2026-01-31 (UTC).' }),
    until: pastFlag({ summary: 'Only what is older than this.' }),
    actor: textFlag({ helpValue: '<id|email>', summary: 'Only what this user did, or "machine".' }),
    action: textFlag({
      helpValue: '<action>',
      summary: 'Only this, such as key.create, or key for all about keys.',
    }),
    target: textFlag({ helpValue: '<id|email>', summary: 'Only what was done to this.' }),
    limit: integerFlag({
      helpValue: '<n>',
      default: 50,
      min: 1,
      max: 100_000,
      summary: 'How many to show, the newest ones.',
    }),
    data: dataFlag,
    database: databaseFlag,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceAudit)
    const { since, until, actor, action, target, limit } = flags
    const administration = await context.lookAround(flags)
    const changes = await administration.listChanges({ since, until, actor, action, target, limit })
    const entries = changes.map((entry) => ({ ...entry, change: describeChange(entry.before, entry.after) }))
    await context.output.show(auditView, entries)
  }
}
