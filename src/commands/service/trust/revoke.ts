import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { trustView } from '../../../view/service.ts'
import { confirmedFlags, ServiceCommand } from '../service-command.ts'

export default class ServiceTrustRevoke extends ServiceCommand {
  static override summary = 'Revoke a trust and all its access tokens'
  static override view = trustView
  static override examples = ServiceCommand.toExamples({
    'Show what would be revoked': 'chatctl service trust revoke deploy --dry-run',
    'Revoke a trust without confirmation': 'chatctl service trust revoke deploy --yes',
  })
  static override args = { name: requiredArgument('Name of the trust') }
  static override flags = confirmedFlags

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceTrustRevoke)
    const { name } = await administration.findTrust(args.name)
    if (context.dryRun) return this.showLocalChange({ revoke: name })
    if (!flags.yes) await context.prompter.confirm(`Revoke the trust ${name} and its access tokens?`)
    await context.output.show(trustView, await administration.revokeTrust(name))
  }
}
