import * as Flags from '@oclif/core/flags'
import { migratedView } from '../../view/service.ts'
import { changeFlags, ServiceCommand } from './service-command.ts'

export default class ServiceMigrate extends ServiceCommand {
  static override summary = 'Migrate the data of the embedded service'
  static override description =
    'Needed after an upgrade, unless service run does it. Refuses data that other processes use, without --force. Before SQLite is migrated, a copy is written beside it, which takes as much space as the data. With --dry-run, the migration is rolled back, and only its time and the size of the database are printed.'
  static override view = migratedView
  static override examples = ServiceCommand.toExamples({
    'Migrate the data': 'chatctl service migrate',
    'Show how long it takes, and the space': 'chatctl service migrate --dry-run',
  })
  static override flags = {
    force: Flags.boolean({
      summary: 'Migrate also while other processes use the data; they then respond with 503',
    }),
    ...changeFlags,
  }

  async run(): Promise<void> {
    const { flags, context, administration } = await this.startOnData(ServiceMigrate)
    const migrated = await administration.migrate(flags.force)
    if (migrated.from === migrated.to)
      context.output.notice('The data has the schema of this version already.')
    if (context.dryRun) return this.showLocalChange({ migrate: migrated })
    await context.output.show(migratedView, migrated)
  }
}
