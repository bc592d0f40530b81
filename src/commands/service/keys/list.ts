import { keyView } from '../../../view/service.ts'
import { ServiceCommand } from '../service-command.ts'

export default class ServiceKeysList extends ServiceCommand {
  static override summary = 'List the API keys of the embedded service'
  static override view = { ...keyView, json: 'list' as const }
  static override examples = ServiceCommand.toExamples({
    'List the keys': 'chatctl service keys list',
    'Show when each key was last used': 'chatctl service keys list --fields name,last_used_at',
  })

  async run(): Promise<void> {
    const { context, administration } = await this.startOnData(ServiceKeysList)
    await context.output.show(keyView, await administration.listKeys())
  }
}
