import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { restoredView } from '../../view/service.ts'
import { confirmedFlags, ServiceCommand } from './service-command.ts'

export default class ServiceRestore extends ServiceCommand {
  static override summary = 'Restore the embedded service from a backup'
  static override description =
    'The service must be stopped. The current data is kept in a file next to it. A backup from an older version is migrated by the next service run or service migrate.'
  static override view = restoredView
  static override examples = ServiceCommand.toExamples({
    'Restore after confirmation': 'chatctl service restore chatctl-backup.db',
    'Restore without confirmation': 'chatctl service restore chatctl-backup.db --yes',
    'Show what would be restored': 'chatctl service restore chatctl-backup.db --dry-run',
  })
  static override args = { file: requiredArgument('Backup file') }
  static override flags = confirmedFlags

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceRestore)
    const file = context.resolvePath(args.file)
    const plan = await administration.planRestore(file)
    if (context.dryRun) return this.showLocalChange(plan)
    if (!flags.yes) await context.prompter.confirm(`Replace ${plan.replace} with ${plan.restore}?`)
    const restored = await administration.restore(file)
    context.output.notice('Keys and sign-in sessions that were revoked after the backup are valid again.')
    await context.output.show(restoredView, restored)
  }
}
