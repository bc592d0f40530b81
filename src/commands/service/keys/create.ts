import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../../cli/base-command.ts'
import { integerFlag, textFlag } from '../../../cli/flag-types.ts'
import { databaseFlag, dataFlag } from '../../../cli/service-flags.ts'
import { dryRunFlag } from '../../../cli/shared-flags.ts'
import { newKeyView } from '../../../view/service.ts'

const tiers = ['free', 'pro', 'enterprise'] as const

export default class ServiceKeysCreate extends BaseCommand {
  static override summary = 'Create an API key of the embedded service and print it, this once.'
  static override description =
    'Only a hash of the key is kept. A key made on the machine acts as the built-in admin.'
  static override examples = [
    '<%= config.bin %> service keys create --name ci --tier pro',
    '<%= config.bin %> service keys create --name big --tier enterprise --limit 50000 --jq .key',
  ]
  static override flags = {
    name: textFlag({ helpValue: '<text>', required: true, summary: 'What the key is for.' }),
    tier: Flags.option({
      options: tiers,
      default: 'free',
      summary: 'Subscription tier, which sets the hourly limit.',
    })(),
    limit: integerFlag({ helpValue: '<n>', summary: 'Requests per hour; only for the tier enterprise.' }),
    data: dataFlag,
    database: databaseFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceKeysCreate, newKeyView)
    const { name, tier, limit } = flags
    const administration = await context.openAdministration(flags)
    administration.checkKey({ name, tier, limit })
    if (context.dryRun) return this.showLocalChange({ create: { name, tier, limit: limit ?? null } })
    const created = await administration.createKey({ name, tier, limit })
    await context.output.showOnce(newKeyView, created, { name: 'key', value: created.key })
  }
}
