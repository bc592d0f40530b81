import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import type { DatabaseFlags } from '../../cli/context/administration.ts'
import type { Context } from '../../cli/context/context.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { rowLimitFlag, rowsToShow } from '../../cli/flags/shared-flags.ts'
import { Failure } from '../../contract/failure.ts'
import { auditedKeysView, sentKeysView } from '../../view/activity.ts'
import { dataFlags } from '../service/service-command.ts'

export default class SettingsHistory extends BaseCommand {
  static override summary = 'List changes of settings'
  static override description =
    'Lists each key of the settings and of the API configuration in the ledger of this machine, oldest first, with its value after the change, and its value before it if chatctl has read it. With --service, lists the changes from all machines, which the audit log of the embedded service has. They have no ID, so settings revert cannot revert them.'
  static override requests = { ...localWork, opensData: true }
  static override view = sentKeysView
  static override otherViews = { '--service': auditedKeysView }
  static override examples = BaseCommand.toExamples({
    'List the changes sent from this machine': 'chatctl settings history',
    'List those from all machines': 'chatctl settings history --service -p local',
  })
  static override flags = {
    limit: rowLimitFlag('keys; the newest are shown', 50),
    service: Flags.boolean({ summary: 'Read the audit log of the embedded service, on its machine' }),
    data: { ...dataFlags.data, dependsOn: ['service'] },
    database: { ...dataFlags.database, dependsOn: ['service'] },
  }

  async run(): Promise<void> {
    const chooseView = (service: boolean) => (service ? auditedKeysView : sentKeysView)
    const { flags, context } = await this.start(SettingsHistory, ({ service }) => chooseView(service))
    const { readSentKeys } = await import('../../settings/settings-history.ts')
    const limit = rowsToShow(flags.limit, context.output, 50)
    const keys = flags.service ? await readAuditedKeys(flags, limit + 1, context) : readSentKeys(context)
    await context.output.show(chooseView(flags.service), keys.slice(-limit))
    if (keys.length > limit)
      context.output.notice(`There are older changes. Show them with: --limit ${2 * limit}`)
  }
}

/** The keys in the newest entries of the audit log. @throws Failure `usage` if another service is selected */
async function readAuditedKeys(place: DatabaseFlags, limit: number, { target, administration }: Context) {
  const to = target()
  if (to.kind === 'remote') {
    const hint = 'Run there: chatctl settings history --service --profile local'
    throw new Failure('usage', `The audit log of ${to.baseUrl} is only on the machine of the service`, {
      hint,
    })
  }
  const opened = await administration.openToRead(place)
  const { valuesOf } = await import('../../settings/plan.ts')
  const entries = await opened.listChanges({ actions: ['settings.update', 'api.update'], limit })
  return entries.flatMap(({ action, target: _, before, after, ...entry }) => {
    const [old, now] = [valuesOf(before ?? {}), valuesOf(after ?? {})]
    const prefix = action === 'api.update' ? 'api.' : ''
    const row = (key: string) => ({ ...entry, path: prefix + key, before: old.get(key), after: now.get(key) })
    return [...new Map([...old, ...now]).keys()].map(row)
  })
}
