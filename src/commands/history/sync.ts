import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { countOf } from '../../view/format/quantities.ts'
import { syncedHistoryView } from '../../view/history.ts'
import { ambiguousTimes, reportFetch } from './page-through-history.ts'

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
    const { output } = context
    const client = await context.connect()
    const { syncHistory } = await import('../../history/sync-history.ts')
    const { progress, ...report } = reportFetch(output)
    try {
      const { facts, path, added, removed, mayLack } = await syncHistory({
        directories: context.directories,
        owner: context.contextOwner(),
        clock: context.host.clock,
        history: client.history,
        isFull: flags.full === true,
        run: context,
        ...report,
        onResume: (messages) =>
          output.notice(`Resuming an interrupted sync. The mirror has ${countOf(messages, 'message')}.`),
        onKept: (messages) => {
          progress.end()
          output.notice(`The mirror has ${countOf(messages, 'message')}. To continue, run the same command.`)
        },
      })
      progress.end()
      if (mayLack) await output.warn(ambiguousTimes)
      await output.show(syncedHistoryView, {
        messages: facts.messages,
        added,
        removed,
        as_of: facts.asOf === null ? null : new Date(facts.asOf).toISOString(),
        profile: facts.profile && (context.profileNameOf(facts.profile) ?? null),
        base_url: facts.baseUrl,
        user_id: facts.userId,
        file: path,
      })
    } finally {
      progress.end()
    }
  }
}
