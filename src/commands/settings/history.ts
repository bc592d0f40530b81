import { BaseCommand } from '../../cli/base-command.ts'
import { warnOfUnreadable } from '../../cli/context/activity-notes.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { integerFlag } from '../../cli/flags/flag-types.ts'
import { sentKeysView } from '../../view/activity.ts'
import { planServiceOf } from './settings-change.ts'

export default class SettingsHistory extends BaseCommand {
  static override summary = 'List changes of settings sent from this machine'
  static override description =
    'Lists each key of the settings and of the API configuration in the activity record, oldest first, with its value before and after the change where they are recorded. Changes from elsewhere are not in it. For those of the embedded service, run: chatctl service audit --action settings'
  static override requests = localWork
  static override view = sentKeysView
  static override examples = [
    { description: 'List the changes', command: 'chatctl settings history' },
    { description: 'List the last ones as JSON', command: 'chatctl settings history --limit 10 --json' },
  ]
  static override flags = {
    limit: integerFlag({
      helpValue: 'N',
      default: 50,
      min: 1,
      max: 100_000,
      summary: 'Maximum number of keys; the newest are shown',
    }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(SettingsHistory)
    const { readSentKeys } = await import('../../settings/settings-history.ts')
    let unreadable = 0
    const keys = readSentKeys(context.directories.state, planServiceOf(context), () => unreadable++)
    await context.output.show(sentKeysView, keys.slice(-flags.limit))
    if (keys.length > flags.limit)
      context.output.progress(`There are older changes. Show them with: --limit ${2 * flags.limit}`)
    await warnOfUnreadable(unreadable, context)
  }
}
