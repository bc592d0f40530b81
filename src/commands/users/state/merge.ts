import { BaseCommand } from '../../../cli/base-command.ts'
import { localWork } from '../../../cli/documented-requests.ts'
import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { Failure } from '../../../contract/failure.ts'
import { countOf } from '../../../view/format/quantities.ts'
import { mergedUsersView } from '../../../view/users.ts'
import { stateOf } from '../user-files-flags.ts'

export default class UsersStateMerge extends BaseCommand {
  static override summary = 'Add the users of a state file to another one'
  static override description =
    'Merges the state files of two branches. The first file then has the users of both; the second one is not changed. If an email has two IDs, or an ID two emails, nothing is merged, and the exit code is 7.'
  static override requests = localWork
  static override view = mergedUsersView
  static override examples = BaseCommand.toExamples({
    'Merge the state file of another branch': 'chatctl users state merge users.state.json theirs.state.json',
    'Show what would be merged': 'chatctl users state merge users.state.json theirs.state.json --dry-run',
  })
  static override args = {
    file: requiredArgument('State file to change'),
    other: requiredArgument('State file to read'),
  }
  static override flags = { 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, context } = await this.start(UsersStateMerge)
    const { dryRun: isDryRun, output } = context
    const [{ UsersState }, { mergeStates }] = await Promise.all([
      import('../../../users/state/users-state.ts'),
      import('../../../users/change-state.ts'),
    ])
    const open = async (name: string, access: 'read' | 'write') => {
      const state = await UsersState.open(...stateOf(context, name, access))
      if (state.exists) return state
      await state.close()
      throw new Failure('refused', `The state file ${name} does not exist`)
    }
    const other = await open(args.other, 'read')
    try {
      const state = await open(args.file, isDryRun ? 'read' : 'write')
      try {
        const users = mergeStates(other, { state, isDryRun })
        await output.show(mergedUsersView, users)
        if (users.some(({ status }) => status === 'conflict')) throw contradicting(users.length, args)
      } finally {
        await state.close()
      }
    } finally {
      await other.close()
    }
    output.notice(
      isDryRun ? `Dry run: ${args.file} was not changed.` : `${args.file} has all users of ${args.other}.`,
    )
  }
}

function contradicting(count: number, { file, other }: { file: string; other: string }): Failure {
  const words = `Nothing was merged: ${countOf(count, 'user')} of ${other} ${count === 1 ? 'has' : 'have'} another ID or email in ${file}`
  return new Failure('conflict', words, {
    hint: 'Record the right ID in both files with: chatctl users adopt EMAIL=ID --state FILE',
  })
}
