import { BaseCommand } from '../../cli/base-command.ts'
import { commandWith } from '../../cli/command-line.ts'
import { integerFlag, textFlag } from '../../cli/flag-types.ts'
import { calls } from '../../cli/requests.ts'
import type { HistoryMessage } from '../../contract/conversation.ts'
import { cursorOf, oldestFirst } from '../../contract/history-order.ts'
import { historyView } from '../../view/chat.ts'

export default class HistoryList extends BaseCommand {
  static override summary = 'Show one page of past messages.'
  static override description =
    'Pages go backwards: --before takes the id of the oldest message that was seen, or its time where the service wants that. Where there is more, a line on stderr has the command that shows it. Rows are oldest first, whatever the service sends; JSON is as it sends it.'
  static override requests = calls('listHistory')
  static override view = historyView
  static override examples = [
    '<%= config.bin %> history list --limit 20',
    '<%= config.bin %> history list --context ID --before MESSAGE_ID --json',
  ]
  static override flags = {
    context: textFlag({ char: 'c', helpValue: '<id>', summary: 'Only this conversation.' }),
    limit: integerFlag({ char: 'n', helpValue: '<n>', summary: 'Most messages on the page.' }),
    before: textFlag({ helpValue: '<cursor>', summary: 'Only messages before this one.' }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(HistoryList)
    const client = await context.connect()
    const answer = await client.history.page({
      ...(flags.context === undefined ? {} : { context_id: flags.context }),
      ...(flags.limit === undefined ? {} : { limit: flags.limit }),
      ...(flags.before === undefined ? {} : { before: flags.before }),
    })
    await context.show(historyView, answer)
    if (answer.body?.has_more) context.output.progress(this.#describeMore(answer.body.messages ?? []))
  }

  #describeMore(messages: readonly HistoryMessage[]): string {
    const [oldest] = oldestFirst(
      messages.filter((message) => typeof message === 'object' && message !== null),
    )
    const cursor = oldest && (cursorOf(oldest, 'id') ?? cursorOf(oldest, 'created_at'))
    if (cursor === undefined) return 'There is more, but no message has an id or a time to go back from.'
    return `There is more: ${commandWith(this, { before: cursor })}`
  }
}
