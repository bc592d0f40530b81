import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/requests.ts'
import { modelsView } from '../../view/chat.ts'

export default class ChatModels extends BaseCommand {
  static override summary = 'List the models that can be used.'
  static override requests = calls('listModels')
  static override view = modelsView
  static override examples = ['<%= config.bin %> chat models', '<%= config.bin %> chat models --json']

  async run(): Promise<void> {
    const { context } = await this.start(ChatModels)
    const client = await context.connect()
    await context.show(modelsView, await client.chat.models())
  }
}
