import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { modelsView } from '../../view/chat.ts'

export default class ChatModels extends BaseCommand {
  static override summary = 'List the available models'
  static override requests = calls('listModels')
  static override view = modelsView
  static override examples = BaseCommand.toExamples({
    'List the models': 'chatctl chat models',
    'Print only the model IDs': 'chatctl chat models --fields id',
    'List the models of another profile as JSON': 'chatctl chat models --profile work --json',
  })

  async run(): Promise<void> {
    const { context } = await this.start(ChatModels)
    const client = await context.connect()
    await context.show(modelsView, await client.chat.models())
  }
}
