import { BaseCommand } from '../../../cli/base-command.ts'
import { dataFlag } from '../../../cli/service-flags.ts'
import { sessionView } from '../../../view/service.ts'

export default class ServiceSessionsList extends BaseCommand {
  static override summary = 'List who is signed in to the embedded service, and where.'
  static override examples = ['<%= config.bin %> service sessions list']
  static override flags = { data: dataFlag }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceSessionsList, sessionView)
    const { sessions } = await context.openAdministration(flags.data)
    await context.output.show(sessionView, await sessions.listSessions())
  }
}
