import { signInSessionsView } from '../../../view/service.ts'
import { ServiceCommand } from '../service-command.ts'

export default class ServiceSessionsList extends ServiceCommand {
  static override summary = 'List sign-in sessions of the embedded service'
  static override view = { ...signInSessionsView, json: 'list' as const }
  static override examples = [
    { description: 'List the sign-in sessions', command: 'chatctl service sessions list' },
    {
      description: 'Show who is signed in from where',
      command: 'chatctl service sessions list --fields email,address,agent',
    },
  ]

  async run(): Promise<void> {
    const { context, administration } = await this.startOnData(ServiceSessionsList)
    await context.output.show(signInSessionsView, await administration.listSessions())
  }
}
