import { BaseCommand } from '../../../cli/base-command.ts'
import { localWork } from '../../../cli/documented-requests.ts'
import { requiredArguments } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { withStdin } from '../../../cli/input/read-input.ts'
import { forgottenUsersView } from '../../../view/users.ts'
import { stateFlag, stateOf } from '../user-files-flags.ts'

export default class UsersStateForget extends BaseCommand {
  static override summary = 'Remove users from a state file'
  static override description =
    'For users who do not exist on the service, although the state file or the ledger of this machine has them. The next users apply creates them, if its files have them. Nothing is deleted on the service: if a user exists, use users adopt instead.'
  static override requests = localWork
  static override view = forgottenUsersView
  static override examples = BaseCommand.toExamples({
    'Forget a user': 'chatctl users state forget grace@example.com',
    'Show what would be forgotten':
      'chatctl users state forget grace@example.com --state team.state.json --dry-run',
  })
  static override args = {
    email: requiredArguments('Email addresses of users, or - to read them from stdin'),
  }
  static override flags = {
    state: stateFlag('State file (default: users.state.json)'),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersStateForget)
    const { dryRun: isDryRun, output } = context
    const emails: string[] = []
    const read = withStdin(args.email, 'email addresses', context, (word) => word)
    for await (const email of read) emails.push(email)
    const [{ defaultStateName }, { forgetUsers }, { withState }] = await Promise.all([
      import('../../../users/state/users-state.ts'),
      import('../../../users/change-state.ts'),
      import('../../../users/known-users.ts'),
    ])
    const name = flags.state ?? defaultStateName
    const opening = stateOf(context, name, isDryRun ? 'read' : 'write')
    await withState(context, opening, async (state, known) => {
      await output.show(forgottenUsersView, forgetUsers(emails, { state, isDryRun, known }))
    })
    output.notice(
      isDryRun
        ? `Dry run: ${name} was not changed.`
        : 'users apply creates these users if its files have them. If one exists, use users adopt.',
    )
  }
}
