import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { keyView } from '../../../view/service.ts'
import { dataFlags } from '../service-flags.ts'

export default class ServiceKeysList extends BaseCommand {
  static override summary = 'List the API keys of the embedded service'
  static override requests = serviceData
  static override view = { ...keyView, json: 'list' as const }
  static override examples = [
    { description: 'List the keys', command: 'chatctl service keys list' },
    {
      description: 'Show when each key was last used',
      command: 'chatctl service keys list --fields name,last_used_at',
    },
  ]
  static override flags = { ...dataFlags }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceKeysList)
    const administration = await context.administration.openToRead(flags)
    await context.output.show(keyView, await administration.listKeys())
  }
}
