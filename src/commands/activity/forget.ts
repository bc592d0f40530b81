import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { activityView, shownChange } from '../../view/activity.ts'
import { countOf } from '../../view/format/quantities.ts'

export default class ActivityForget extends LocalCommand {
  static override summary = 'Erase a user from the ledger of this machine'
  static override description =
    'Erases every change that names the user from the ledger of the service, after confirmation. USER is an ID or an email address; the other IDs and email addresses of the same user are erased too. Nothing is deleted on the service. chatctl no longer knows that it has created the user, so users import and users apply would create the user again. While another chatctl process sends changes to the service, the command is refused.'
  static override view = activityView
  static override examples = LocalCommand.toExamples({
    'Show what would be erased': 'chatctl activity forget mary@example.com --dry-run',
    'Erase a user without confirmation': 'chatctl activity forget mary@example.com --yes',
  })
  static override args = { user: requiredArgument('ID or email address of the user') }
  static override flags = { yes: yesFlag, 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ActivityForget)
    const { dryRun, directories, output, prompter } = context
    const [{ Ledger }, { changesNaming, eraseUser }] = await Promise.all([
      import('../../ledger/ledger.ts'),
      import('../../ledger/rewrite-ledger.ts'),
    ])
    const ledger = Ledger.of(directories, context.service)
    const { service = '' } = ledger.header ?? {}
    const found = changesNaming(ledger, args.user)
    const changes = countOf(found.length, 'change')
    if (!dryRun && !flags.yes) await prompter.confirm(`Erase ${changes} from the ledger?`)
    const erased = dryRun ? found : eraseUser(ledger, args.user)
    const rows = erased.map((entry) => shownChange({ ...entry, service }))
    await output.show(activityView, rows)
    output.notice(
      dryRun
        ? 'Dry run: the ledger was not changed.'
        : `Erased ${countOf(erased.length, 'change')} from the ledger of this machine.`,
    )
  }
}
