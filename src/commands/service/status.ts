import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/requests.ts'
import { databaseFlag, dataFlag } from '../../cli/service-flags.ts'
import { serviceStatusView } from '../../view/service.ts'

export default class ServiceStatus extends BaseCommand {
  static override summary = 'Show what the embedded service holds, and where it runs.'
  static override requests = { ...calls(), note: '`GET /readyz` of the running service.' }
  static override view = serviceStatusView
  static override examples = ['<%= config.bin %> service status', '<%= config.bin %> service status --json']
  static override flags = { data: dataFlag, database: databaseFlag }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceStatus)
    const administration = await context.lookAround(flags)
    await context.output.show(serviceStatusView, await administration.status())
  }
}
