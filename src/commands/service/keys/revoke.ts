import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { databaseFlag, dataFlag } from '../../../cli/service-flags.ts'
import { dryRunFlag, yesFlag } from '../../../cli/shared-flags.ts'
import { keyView } from '../../../view/service.ts'

export default class ServiceKeysRevoke extends BaseCommand {
  static override summary = 'Revoke an API key permanently'
  static override requests = serviceData
  static override view = keyView
  static override examples = [
    { description: 'Show what would be revoked', command: 'chatctl service keys revoke KEY_ID --dry-run' },
    { description: 'Revoke a key without confirmation', command: 'chatctl service keys revoke KEY_ID --yes' },
  ]
  static override args = {
    id: Args.string({ description: 'ID of the key', required: true, ignoreStdin: true }),
  }
  static override flags = { data: dataFlag, database: databaseFlag, yes: yesFlag, 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceKeysRevoke)
    const administration = await context.openAdministration(flags)
    const { id } = await administration.findKey(args.id)
    if (context.dryRun) return this.showLocalChange({ revoke: id })
    if (!flags.yes) await context.prompter.confirm(`Revoke the key ${id} for good?`)
    await context.output.show(keyView, await administration.revokeKey(id))
  }
}
