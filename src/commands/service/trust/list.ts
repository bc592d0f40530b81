import { trustView } from '../../../view/service.ts'
import { ServiceCommand } from '../service-command.ts'

export default class ServiceTrustList extends ServiceCommand {
  static override summary = 'List the trusts of the embedded service'
  static override view = { ...trustView, json: 'list' as const }
  static override examples = ServiceCommand.toExamples({
    'List the trusts': 'chatctl service trust list',
    'Show when each trust was last used': 'chatctl service trust list --fields name,subject,last_used_at',
  })

  async run(): Promise<void> {
    const { context, administration } = await this.startOnData(ServiceTrustList)
    await context.output.show(trustView, await administration.listTrusts())
  }
}
