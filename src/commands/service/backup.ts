import * as Flags from '@oclif/core/flags'
import { serviceData } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { Failure } from '../../contract/failure.ts'
import { backupView } from '../../view/service.ts'
import { changeFlags, ServiceCommand } from './service-command.ts'

export default class ServiceBackup extends ServiceCommand {
  static override summary = 'Back up the data of the embedded service'
  static override description =
    'The backup is consistent even while the service runs, and is checked before it gets its name. Without --force, an existing file is never replaced. For PostgreSQL, use pg_dump.'
  static override requests = { ...serviceData, effect: 'changes this machine' as const }
  static override view = backupView
  static override examples = ServiceCommand.toExamples({
    'Write a backup': 'chatctl service backup --to chatctl-backup.db',
    'Show what would be written': 'chatctl service backup --to backup.db --dry-run',
    "Replace last night's backup, and print only its size":
      'chatctl service backup --to nightly.db --force --fields bytes',
  })
  static override flags = {
    to: textFlag({ helpValue: 'FILE', required: true, summary: 'File to write' }),
    force: Flags.boolean({ summary: 'Replace an existing file, once the new backup is complete' }),
    ...changeFlags,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceBackup)
    if (flags.to === '-') {
      throw new Failure(
        'usage',
        'A backup cannot be written to stdout, because chatctl checks the file before it renames it',
        { hint: 'Write it to a file with: --to chatctl-backup.db' },
      )
    }
    const administration = await context.administration.openToChange(flags)
    if (context.dryRun) return this.showLocalChange({ back_up_to: flags.to })
    await context.output.show(
      backupView,
      await administration.backUp(context.resolvePath(flags.to), flags.force),
    )
  }
}
