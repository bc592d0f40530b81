import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import { serviceData } from '../../cli/requests.ts'
import { databaseFlag, dataFlag } from '../../cli/service-flags.ts'
import { dryRunFlag, yesFlag } from '../../cli/shared-flags.ts'
import { restoredView } from '../../view/service.ts'

export default class ServiceRestore extends BaseCommand {
  static override summary = "Put a backup in the place of the embedded service's data."
  static override description =
    'What was there is kept in a file beside it. The service must be stopped. A backup of an older chatctl is brought up to date.'
  static override requests = serviceData
  static override view = restoredView
  static override examples = ['<%= config.bin %> service restore chatctl-backup.db --yes']
  static override args = {
    file: Args.string({ description: 'The backup.', required: true, ignoreStdin: true }),
  }
  static override flags = { data: dataFlag, database: databaseFlag, yes: yesFlag, 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceRestore)
    const administration = await context.openAdministration(flags)
    const plan = await administration.planRestore(args.file)
    if (context.dryRun) return this.showLocalChange(plan)
    if (!flags.yes) await context.prompter.confirm(`Replace ${plan.replace} by ${plan.restore}?`)
    const restored = await administration.restore(args.file)
    context.output.notice('Keys and sign-ins that were revoked since the backup are valid again')
    await context.output.show(restoredView, restored)
  }
}
