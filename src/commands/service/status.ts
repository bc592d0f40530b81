import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { serviceStatusView, serviceUrlView } from '../../view/service.ts'
import { dataFlags } from './service-command.ts'

export default class ServiceStatus extends BaseCommand {
  static override summary = 'Show the data and URL of the embedded service'
  static override requests = { ...calls(), note: '`GET /readyz` of the service process.' }
  static override view = serviceStatusView
  static override otherViews = { '--ready': serviceUrlView }
  static override examples = BaseCommand.toExamples({
    'Show the status': 'chatctl service status',
    'Show the status as JSON': 'chatctl service status --json',
    'Check the health': 'chatctl service status --ready',
  })
  static override flags = {
    ...dataFlags,
    ready: Flags.boolean({
      summary: 'Print only the URL of the service process; exit with code 69 if it is not ready',
    }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceStatus)
    if (flags.ready) {
      // Without a look into the database, which the service has checked.
      const { findReady } = await context.administration.openToFindService(flags)
      return context.output.show(serviceUrlView, await findReady())
    }
    const administration = await context.administration.openToRead(flags)
    await context.output.show(serviceStatusView, await administration.status())
  }
}
