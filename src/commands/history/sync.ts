import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { syncedHistoryView } from '../../view/history.ts'

export default class HistorySync extends BaseCommand {
  static override summary = 'Update the mirror of the history, for history search'
  static override description =
    'The mirror is a copy of the history on this machine: a private file for each profile and base URL. Only messages that it does not have are fetched. An interrupted sync keeps what it fetched; the next one continues there. Messages that are changed or deleted on the service later stay as they are, unless you use --full.'
  static override requests = {
    ...calls('getProfile', 'listHistory'),
    note: 'the history once for each page.',
    effect: 'changes this machine' as const,
  }
  static override view = syncedHistoryView
  static override examples = BaseCommand.toExamples({
    'Fetch the messages since the last sync': 'chatctl history sync',
    'Fetch all messages again, and remove those that the service no longer has':
      'chatctl history sync --full',
    'Print the number of new messages': 'chatctl history sync --json --jq .added',
  })
  static override flags = {
    full: Flags.boolean({
      summary: 'Fetch all messages again, and remove those that the service no longer has',
    }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(HistorySync)
    const { syncHistory } = await import('../../history/sync-history.ts')
    const { DeliveryCheck } = await import('../../chat/transcript/check-deliveries.ts')
    const check = new DeliveryCheck(context.directories.sessions, context.contextOwner(), context.knownUser())
    const { facts, path, added, removed, isWhole } = await syncHistory(context, {
      isFull: flags.full === true,
      onMessages: (messages) => check.see(messages),
    })
    check.settle(isWhole)
    await context.output.show(syncedHistoryView, {
      messages: facts.messages,
      added,
      removed,
      as_of: facts.asOf === null ? null : new Date(facts.asOf).toISOString(),
      profile: facts.profile && (context.profileNameOf(facts.profile) ?? null),
      base_url: facts.baseUrl,
      user_id: facts.userId,
      file: path,
    })
  }
}
