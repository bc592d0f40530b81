import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/requests.ts'
import { databaseFlag, dataFlag } from '../../../cli/service-flags.ts'
import { sessionView } from '../../../view/service.ts'

export default class ServiceSessionsList extends BaseCommand {
  static override summary = 'List who is signed in to the embedded service, and where.'
  static override requests = serviceData
  static override view = sessionView
  static override examples = ['<%= config.bin %> service sessions list']
  static override flags = { data: dataFlag, database: databaseFlag }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceSessionsList)
    const administration = await context.lookAround(flags)
    await context.output.show(sessionView, await administration.listSessions())
  }
}
