import { keyView } from '../../../view/service.ts'
import { confirmedFlags, keyArgument, ServiceCommand } from '../service-command.ts'

export default class ServiceKeysRevoke extends ServiceCommand {
  static override summary = 'Revoke an API key permanently'
  static override description =
    'Service processes reject the next request with the key, and end replies that are running.'
  static override view = keyView
  static override examples = ServiceCommand.toExamples({
    'Show what would be revoked': 'chatctl service keys revoke ci --dry-run',
    'Revoke a key without confirmation': 'chatctl service keys revoke KEY_ID --yes',
  })
  static override args = keyArgument
  static override flags = confirmedFlags

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceKeysRevoke)
    const { id, name } = await administration.findKey(args.key)
    if (context.dryRun) return this.showLocalChange({ revoke: id })
    if (!flags.yes) await context.prompter.confirm(`Revoke the key ${id} (${name}) permanently?`)
    await context.output.show(keyView, await administration.revokeKey(id))
  }
}
