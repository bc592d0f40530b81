import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { Failure } from '../../contract/failure.ts'
import { chatSessionsView } from '../../view/chat.ts'
import { findSession } from './choose-session.ts'

export default class ChatRename extends LocalCommand {
  static override summary = 'Name a chat session'
  static override description =
    'Commands accept the name in place of the ID. The name is only stored on this machine; no request is sent.'
  static override view = chatSessionsView
  static override completes = { session: 'session' } as const
  static override examples = LocalCommand.toExamples({
    'Name a session': 'chatctl chat rename s20261121 "trip to Rome"',
    'Show what would change': 'chatctl chat rename s20261121 Rome --dry-run',
  })
  static override args = {
    session: requiredArgument('ID, start of an ID, or name of the session'),
    name: requiredArgument('New name'),
  }
  static override flags = { 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, context } = await this.start(ChatRename)
    const { cleanName } = await import('../../chat/transcript/transcript.ts')
    const name = cleanName(args.name)
    if (name === '') throw new Failure('usage', 'NAME is empty')
    const { demandFreeName, describeSession } = await import('../../chat/transcript/list-transcripts.ts')
    const path = await findSession(context, args.session)
    demandFreeName(path, name)
    const describe = () => describeSession(path, context.profileNameOf)
    if (context.dryRun) return this.showLocalChange({ rename: describe()['id'], name })
    const { renameTranscript } = await import('../../chat/transcript/manage-transcripts.ts')
    renameTranscript(path, name)
    await context.output.show(chatSessionsView, [describe()])
  }
}
