import * as Flags from '@oclif/core/flags'
import type { Delivery } from '../../chat/transcript/transcript-line.ts'
import { commandLine } from '../../cli/command-line.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { allRows, rowLimitFlag, rowsToShow, storedFlags } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { chatSessionsView } from '../../view/chat.ts'
import { withSessionList } from './choose-session.ts'

export default class ChatSessions extends LocalCommand {
  static override summary = 'List the chat sessions on this machine'
  static override description =
    'Sessions are read from their transcripts, last used first. No request is sent. To find messages, use history search.'
  static override view = chatSessionsView
  static override examples = LocalCommand.toExamples({
    'List the sessions with the current service': 'chatctl chat sessions',
    'Find a session': 'chatctl chat sessions --search "write-ahead log"',
    'List those of this machine alone': 'chatctl chat sessions --local',
    'List all sessions as JSON': 'chatctl chat sessions --all --json',
    'Show when each session was last used': 'chatctl chat sessions --fields id,updated_at',
  })
  static override flags = {
    all: Flags.boolean({ summary: 'Include sessions with other services' }),
    ...storedFlags,
    limit: rowLimitFlag('sessions', 50, 'with --all or --json, all'),
    search: textFlag({
      helpValue: 'WORDS',
      summary: 'Only sessions with all these words in the name or the messages',
    }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ChatSessions)
    const { describeSummary, listTranscripts } = await import('../../chat/transcript/list-transcripts.ts')
    const { isLocal } = await import('../../chat/transcript/turn.ts')
    const { directories } = context
    const { search } = flags
    const limit = rowsToShow(flags.limit, context.output, flags.all ? allRows : 50)
    const owner = flags.all ? undefined : context.contextOwner()
    const isWanted = ({ delivery }: { delivery: Delivery }) =>
      flags.local ? isLocal(delivery) : delivery === 'stored' || !flags.stored
    const found =
      search === undefined
        ? listTranscripts(directories.sessions, owner, { limit: limit + 1, isWanted })
        : await withSessionList(directories, { owner, isWanted }, (list) => list.find(search))
    const rows = found.slice(0, limit).map((summary) => describeSummary(summary, context.profileNameOf))
    await context.output.show(chatSessionsView, rows)
    if (found.length > limit) {
      context.output.notice(`There are more sessions. Show them with: --limit ${2 * limit}`)
    }
    if (found.length > 0) return
    const matching = search === undefined ? '' : ` that match "${search}"`
    const kind = flags.local ? ' local' : flags.stored ? ' stored' : ''
    const others = ' with this service. List all sessions with: chatctl chat sessions --all'
    const next =
      search === undefined
        ? 'Start a session with: chatctl chat'
        : `Search all messages with: ${commandLine('history', 'search', search)}`
    context.output.progress(`No${kind} sessions${matching}${flags.all ? '' : others}. ${next}`)
  }
}
