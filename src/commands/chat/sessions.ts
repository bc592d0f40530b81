import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { chatSessionsView } from '../../view/chat-sessions.ts'

export default class ChatSessions extends BaseCommand {
  static override summary = 'List the chat sessions on this machine'
  static override description =
    'Sessions are read from their transcripts, last used first. No request is sent.'
  static override requests = localWork
  static override view = chatSessionsView
  static override examples = [
    { description: 'List the sessions with the current service', command: 'chatctl chat sessions' },
    { description: 'List all sessions as JSON', command: 'chatctl chat sessions --all --json' },
    {
      description: 'Show when each session was last used',
      command: 'chatctl chat sessions --fields id,updated_at',
    },
  ]
  static override flags = {
    all: Flags.boolean({ summary: 'Include sessions with other services' }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ChatSessions)
    const { describeSummary } = await import('../../talk/transcript/list-transcripts.ts')
    const { listTranscripts } = await import('../../talk/transcript/list-transcripts.ts')
    const summaries = listTranscripts(
      context.directories.sessions,
      flags.all ? undefined : context.contextOwner(),
    )
    await context.output.show(chatSessionsView, summaries.map(describeSummary))
    if (summaries.length === 0) {
      const others = ' with this service. List all sessions with: chatctl chat sessions --all'
      context.output.progress(`No sessions${flags.all ? '' : others}. Start a session with: chatctl chat`)
    }
  }
}
