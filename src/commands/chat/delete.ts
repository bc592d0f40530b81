import type { Context } from '../../cli/context/context.ts'
import { requiredArguments } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import type { Failure } from '../../contract/failure.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { chatSessionsView } from '../../view/chat.ts'
import { countOf } from '../../view/format/quantities.ts'
import { findSession } from './choose-session.ts'

export default class ChatDelete extends LocalCommand {
  static override summary = 'Delete chat sessions from this machine'
  static override description =
    'Deletes the transcripts, after confirmation. The service keeps its history, because its interface cannot delete messages, and so does the mirror that history sync made.'
  static override view = chatSessionsView
  static override completes = { session: 'session' } as const
  static override examples = LocalCommand.toExamples({
    'Show what would be deleted': 'chatctl chat delete s20261121 --dry-run',
    'Delete a session without confirmation': 'chatctl chat delete s20261121 --yes',
  })
  static override args = { session: requiredArguments('ID, start of an ID, or name of each session') }
  static override flags = { yes: yesFlag, 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatDelete)
    const { describeSession } = await import('../../chat/transcript/list-transcripts.ts')
    const { removeTranscriptIndex } = await import('../../history/transcript-index.ts')
    const { lockTranscripts } = await import('../../chat/transcript/manage-transcripts.ts')
    const paths = [...new Set(await Promise.all(args.session.map((wanted) => findSession(context, wanted))))]
    const rows = paths.map((path) => describeSession(path, context.profileNameOf))
    const locked = lockTranscripts(paths)
    const deleted: Record<string, unknown>[] = []
    try {
      if (context.dryRun) return await this.showLocalChange({ delete: rows.map(({ id }) => id) })
      if (!flags.yes) await context.prompter.confirm(`Delete ${rows.map(describe).join(', ')}?`)
      let remembered: Failure | undefined
      for (const [index, path] of paths.entries()) {
        remembered = (await locked.delete(path, context.directories)) ?? remembered
        deleted.push(rows[index] ?? {})
      }
      if (remembered) throw remembered
    } finally {
      locked.release()
      try {
        if (deleted.length > 0) removeTranscriptIndex(context.directories)
      } finally {
        if (deleted.length > 0) await report(context, deleted)
      }
    }
  }
}

/** `the session s20261121-142233-k3f9 "Trip to Rome" (2 turns)` */
function describe({ id, name, turns }: Record<string, unknown>): string {
  const quoted = name ? ` "${stripControls(String(name))}"` : ''
  return `the session ${id}${quoted} (${countOf(Number(turns ?? 0), 'turn')})`
}

async function report({ output }: Context, deleted: readonly Record<string, unknown>[]): Promise<void> {
  await output.show(chatSessionsView, deleted)
  output.progress(`Deleted ${countOf(deleted.length, 'session')} from this machine.`)
  const contexts = deleted.flatMap(({ context_id: id }) => (typeof id === 'string' ? [id] : []))
  if (contexts.length > 0)
    output.notice(`The history of the service, and its mirror, may still contain: ${contexts.join(', ')}`)
}
