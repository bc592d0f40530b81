import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { trustView } from '../../../view/service.ts'
import { dataFlags } from '../service-flags.ts'

export default class ServiceTrustList extends BaseCommand {
  static override summary = 'List the trusts of the embedded service'
  static override requests = serviceData
  static override view = { ...trustView, json: 'list' as const }
  static override examples = [
    { description: 'List the trusts', command: 'chatctl service trust list' },
    {
      description: 'Show when each trust was last used',
      command: 'chatctl service trust list --fields name,subject,last_used_at',
    },
  ]
  static override flags = { ...dataFlags }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceTrustList)
    const administration = await context.administration.openToRead(flags)
    await context.output.show(trustView, await administration.listTrusts())
  }
}
