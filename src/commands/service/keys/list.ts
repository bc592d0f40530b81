import { BaseCommand } from '../../../cli/base-command.ts'
import { databaseFlag, dataFlag } from '../../../cli/service-flags.ts'
import { keyView } from '../../../view/service.ts'

export default class ServiceKeysList extends BaseCommand {
  static override summary = 'List the API keys of the embedded service.'
  static override examples = ['<%= config.bin %> service keys list']
  static override flags = { data: dataFlag, database: databaseFlag }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceKeysList, keyView)
    const administration = await context.lookAround(flags)
    await context.output.show(keyView, await administration.listKeys())
  }
}
