import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { localWork } from '../../cli/requests.ts'
import { sessionsView } from '../../view/session.ts'

export default class ChatSessions extends BaseCommand {
  static override summary = 'List the sessions of this machine.'
  static override description =
    'Those with the service in use, the last used first, from their transcripts; nothing is sent.'
  static override requests = localWork
  static override view = sessionsView
  static override examples = [
    '<%= config.bin %> chat sessions',
    '<%= config.bin %> chat sessions --all --json',
  ]
  static override flags = {
    all: Flags.boolean({ summary: 'Those with every service.' }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ChatSessions)
    const { describeSummary } = await import('../../talk/transcript/list-transcripts.ts')
    const { listTranscripts } = await import('../../talk/transcript/list-transcripts.ts')
    const summaries = listTranscripts(
      context.directories.sessions,
      flags.all ? undefined : context.contextOwner(),
    )
    await context.output.show(sessionsView, summaries.map(describeSummary))
    if (summaries.length === 0) {
      const more = flags.all ? '' : ' with this service; --all shows those with every other'
      context.output.progress(`There are no sessions${more}. chatctl chat begins one.`)
    }
  }
}
