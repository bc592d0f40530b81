import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { signInSessionsView } from '../../../view/service.ts'
import { confirmedFlags, ServiceCommand } from '../service-command.ts'

export default class ServiceSessionsRevoke extends ServiceCommand {
  static override summary = 'End a sign-in session and revoke its tokens'
  static override view = signInSessionsView
  static override examples = ServiceCommand.toExamples({
    'Show what would be revoked': 'chatctl service sessions revoke SESSION_ID --dry-run',
    'End a sign-in session without confirmation': 'chatctl service sessions revoke SESSION_ID --yes',
  })
  static override args = { id: requiredArgument('ID of the sign-in session') }
  static override flags = confirmedFlags

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceSessionsRevoke)
    const { id } = await administration.findSession(args.id)
    if (context.dryRun) return this.showLocalChange({ revoke: id })
    if (!flags.yes) await context.prompter.confirm(`End the sign-in session ${id}?`)
    await context.output.show(signInSessionsView, await administration.revokeSession(id))
  }
}
