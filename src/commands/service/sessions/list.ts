import { signInSessionsView } from '../../../view/service.ts'
import { ServiceCommand } from '../service-command.ts'

export default class ServiceSessionsList extends ServiceCommand {
  static override summary = 'List sign-in sessions of the embedded service'
  static override view = { ...signInSessionsView, json: 'list' as const }
  static override examples = ServiceCommand.toExamples({
    'List the sign-in sessions': 'chatctl service sessions list',
    'Show who is signed in from where': 'chatctl service sessions list --fields email,address,agent',
  })

  async run(): Promise<void> {
    const { context, administration } = await this.startOnData(ServiceSessionsList)
    await context.output.show(signInSessionsView, await administration.listSessions())
  }
}
