import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { databaseFlag, dataFlag } from '../../cli/service-flags.ts'
import { serviceStatusView } from '../../view/service.ts'

export default class ServiceStatus extends BaseCommand {
  static override summary = 'Show the data and address of the embedded service'
  static override requests = { ...calls(), note: '`GET /readyz` of the running service.' }
  static override view = serviceStatusView
  static override examples = [
    { description: 'Show the status', command: 'chatctl service status' },
    { description: 'Show the status as JSON', command: 'chatctl service status --json' },
  ]
  static override flags = { data: dataFlag, database: databaseFlag }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceStatus)
    const administration = await context.openToInspect(flags)
    await context.output.show(serviceStatusView, await administration.status())
  }
}
