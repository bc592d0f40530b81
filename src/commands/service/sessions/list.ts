import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { signInSessionsView } from '../../../view/service.ts'
import { dataFlags } from '../service-flags.ts'

export default class ServiceSessionsList extends BaseCommand {
  static override summary = 'List sign-in sessions of the embedded service'
  static override requests = serviceData
  static override view = { ...signInSessionsView, json: 'list' as const }
  static override examples = [
    { description: 'List the sign-in sessions', command: 'chatctl service sessions list' },
    {
      description: 'Show who is signed in from where',
      command: 'chatctl service sessions list --fields email,address,agent',
    },
  ]
  static override flags = { ...dataFlags }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceSessionsList)
    const administration = await context.administration.openToRead(flags)
    await context.output.show(signInSessionsView, await administration.listSessions())
  }
}
