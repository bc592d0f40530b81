import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { reassignLastContexts } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import { renamedProfileView } from '../../view/auth.ts'
import type { Renaming } from './rename-profile.ts'

export default class AuthRename extends BaseCommand {
  static override summary = 'Rename a profile'
  static override description =
    'The credentials, chat sessions, and mirrors of the profile get the new name, and so do the default profile and the directories of the profile. The record of changes (chatctl activity) keeps the old name. If the command is interrupted, run it again.'
  static override requests = localWork
  static override completes = { profile: 'profile' } as const
  static override view = renamedProfileView
  static override examples = [
    { description: 'Show the change without making it', command: 'chatctl auth rename work acme --dry-run' },
    { description: 'Rename a profile', command: 'chatctl auth rename work acme' },
  ]
  static override args = {
    profile: Args.string({ description: 'Name of the profile', required: true, ignoreStdin: true }),
    name: Args.string({ description: 'New name', required: true, ignoreStdin: true }),
  }
  static override flags = { 'dry-run': dryRunFlag }
  // The default profile may be one that was renamed in the file.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { args, context } = await this.start(AuthRename)
    const { profile: from, name: to } = args
    const { planRename, renameProfile } = await import('./rename-profile.ts')
    const renaming = planRename(context, from, to)
    if (context.dryRun) return this.showLocalChange({ rename: from, name: to })
    const moved = await renameProfile(context, renaming, () => reassignRecords(context, renaming))
    await context.output.show(renamedProfileView, { profile: to, former_name: from, ...moved })
  }
}

/** @throws Failure `conflict` if another process has a session of the profile open */
async function reassignRecords({ directories }: Context, { from, to, command }: Renaming) {
  const { reassignTranscripts } = await import('../../chat/transcript/reassign-transcripts.ts')
  const { emptyTranscriptIndex } = await import('../../history/transcript-index.ts')
  const { reassignMirrors } = await import('../../history/reassign-mirrors.ts')
  await reassignLastContexts(directories, from, to)
  const { moved: sessions, open } = reassignTranscripts(directories.sessions, from, to)
  if (sessions > 0) await emptyTranscriptIndex(directories)
  if (open.length > 0) {
    const words = open.length === 1 ? `session ${open[0]} is` : `sessions ${open.join(', ')} are`
    throw new Failure(
      'conflict',
      `The profile is renamed, but the ${words} open in another chatctl process`,
      {
        hint: `Close it there, then complete the rename with: ${command}`,
      },
    )
  }
  return { sessions, mirrors: reassignMirrors(directories, from, to) }
}
