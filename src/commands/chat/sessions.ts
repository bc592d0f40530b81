import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandLine } from '../../cli/command-line.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { integerFlag, textFlag } from '../../cli/flags/flag-types.ts'
import { storedFlags } from '../../cli/flags/shared-flags.ts'
import { chatSessionsView } from '../../view/chat.ts'

export default class ChatSessions extends BaseCommand {
  static override summary = 'List the chat sessions on this machine'
  static override description =
    'Sessions are read from their transcripts, last used first. No request is sent. To search all messages, use history search, which has the same syntax.'
  static override requests = localWork
  static override view = chatSessionsView
  static override examples = [
    { description: 'List the sessions with the current service', command: 'chatctl chat sessions' },
    { description: 'Find a session', command: 'chatctl chat sessions --search "write-ahead log"' },
    { description: 'List those of this machine alone', command: 'chatctl chat sessions --local' },
    { description: 'List all sessions as JSON', command: 'chatctl chat sessions --all --json' },
    {
      description: 'Show when each session was last used',
      command: 'chatctl chat sessions --fields id,updated_at',
    },
  ]
  static override flags = {
    all: Flags.boolean({ summary: 'Include sessions with other services' }),
    ...storedFlags,
    limit: integerFlag({ min: 1, default: 50, helpValue: 'N', summary: 'Maximum number of sessions' }),
    search: textFlag({
      helpValue: 'WORDS',
      summary: 'Only sessions whose name or first message contains all these words',
    }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ChatSessions)
    const { describeSummary, listTranscripts } = await import('../../chat/transcript/list-transcripts.ts')
    const { SearchQuery } = await import('../../history/search-query.ts')
    const query = flags.search === undefined ? undefined : new SearchQuery(flags.search)
    const owner = flags.all ? undefined : context.contextOwner()
    const found = listTranscripts(context.directories.sessions, owner, {
      limit: flags.limit + 1,
      isWanted: ({ name, firstMessage, isOnService }) =>
        (flags.local ? !isOnService : isOnService || !flags.stored) &&
        (!query || query.matches(`${name ?? ''}\n${firstMessage ?? ''}`)),
    })
    const rows = found.slice(0, flags.limit).map((summary) => describeSummary(summary, context.profileNameOf))
    await context.output.show(chatSessionsView, rows)
    if (found.length > flags.limit) {
      context.output.progress(`There are more sessions. Show them with: --limit ${2 * flags.limit}`)
    }
    if (found.length > 0) return
    const matching = flags.search === undefined ? '' : ` that match "${flags.search}"`
    const kind = flags.local ? ' local' : flags.stored ? ' stored' : ''
    const others = ' with this service. List all sessions with: chatctl chat sessions --all'
    const next =
      flags.search === undefined
        ? 'Start a session with: chatctl chat'
        : `Search all messages with: ${commandLine('history', 'search', flags.search)}`
    context.output.progress(`No${kind} sessions${matching}${flags.all ? '' : others}. ${next}`)
  }
}
