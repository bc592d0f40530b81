import { BaseCommand } from '../../cli/base-command.ts'
import { commandWith } from '../../cli/command-line.ts'
import { calls } from '../../cli/documented-requests.ts'
import { integerFlag, textFlag } from '../../cli/flags/flag-types.ts'
import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { cursorOf, oldestFirst } from '../../contract/resources/history-order.ts'
import { historyView } from '../../view/history.ts'

export default class HistoryList extends BaseCommand {
  static override summary = 'List past messages, one page at a time'
  static override description =
    'Lists only messages that the service stores; history export has all. Rows are sorted oldest first; JSON keeps the order of the service. If there are older messages, a line on stderr has the command that shows them.'
  static override requests = calls('listHistory')
  static override view = historyView
  static override examples = BaseCommand.toExamples({
    'Show the last 20 messages': 'chatctl history list --limit 20',
    'Show the messages of one conversation': 'chatctl history list --context ID',
    'Show the page before a message': 'chatctl history list --context ID --before MESSAGE_ID --json',
  })
  static override flags = {
    context: textFlag({ helpValue: 'ID', summary: 'Only messages of this conversation' }),
    limit: integerFlag({
      char: 'n',
      helpValue: 'N',
      summary: 'Maximum number of messages (range and default: set by the service)',
    }),
    before: textFlag({
      helpValue: 'CURSOR',
      summary: 'Only messages before this one: a message ID (for some services, a time)',
    }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(HistoryList)
    const client = await context.connect()
    const query = { context_id: flags.context, limit: flags.limit, before: flags.before }
    const answer = await client.history.page(query)
    await context.show(historyView, answer)
    const { DeliveryCheck } = await import('../../chat/transcript/check-deliveries.ts')
    const check = new DeliveryCheck(
      context.directories.sessions,
      context.contextOwner(),
      context.knownUser(),
      flags.context,
    )
    const messages = answer.body?.messages
    if (Array.isArray(messages)) check.see(messages)
    check.settle(flags.before === undefined && answer.body?.has_more === false && Array.isArray(messages))
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
