import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { trustView } from '../../../view/service.ts'
import { confirmedFlags } from '../service-flags.ts'

export default class ServiceTrustRevoke extends BaseCommand {
  static override summary = 'Revoke a trust and all its access tokens'
  static override requests = serviceData
  static override view = trustView
  static override examples = [
    {
      description: 'Show what would be revoked',
      command: 'chatctl service trust revoke deploy --dry-run',
    },
    {
      description: 'Revoke a trust without confirmation',
      command: 'chatctl service trust revoke deploy --yes',
    },
  ]
  static override args = {
    name: requiredArgument('Name of the trust'),
  }
  static override flags = confirmedFlags

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceTrustRevoke)
    const administration = await context.administration.openToChange(flags)
    const { name } = await administration.findTrust(args.name)
    if (context.dryRun) return this.showLocalChange({ revoke: name })
    if (!flags.yes) await context.prompter.confirm(`Revoke the trust ${name} and its access tokens?`)
    await context.output.show(trustView, await administration.revokeTrust(name))
  }
}
