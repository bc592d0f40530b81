import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../../cli/base-command.ts'
import { textFlag } from '../../../cli/flag-types.ts'
import { serviceData } from '../../../cli/requests.ts'
import { databaseFlag, dataFlag, keyFlags, keyPermissions, tiers } from '../../../cli/service-flags.ts'
import { dryRunFlag } from '../../../cli/shared-flags.ts'
import { newKeyView } from '../../../view/service.ts'

export default class ServiceKeysCreate extends BaseCommand {
  static override summary = 'Create an API key of the embedded service and print it, this once.'
  static override description =
    'Only a hash of the key is kept. It acts as its user and never may more than that user; without --user, as the built-in admin.'
  static override usage = 'service keys create --name <text>'
  static override requests = serviceData
  static override view = newKeyView
  static override examples = [
    '<%= config.bin %> service keys create --name ci --tier pro --expires 90d',
    '<%= config.bin %> service keys create --name bot --user ada@example.com',
    '<%= config.bin %> service keys create --name reader --permission read:users --jq .key',
    '<%= config.bin %> service keys create --name big --tier enterprise --limit 50000',
  ]
  static override flags = {
    name: textFlag({ helpValue: '<text>', required: true, summary: 'What the key is for.' }),
    tier: Flags.option({
      options: tiers,
      default: 'free',
      summary: 'Subscription tier, which sets the hourly limit.',
    })(),
    ...keyFlags,
    user: textFlag({
      helpValue: '<id|email>',
      summary: 'Whom the key acts as; the built-in admin unless said.',
    }),
    data: dataFlag,
    database: databaseFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceKeysCreate)
    const { name, tier, limit, user, expires } = flags
    const request = {
      name,
      tier,
      limit,
      user,
      permissions: keyPermissions(flags.permission) ?? undefined,
      expiresAt: expires?.at ?? undefined,
    }
    const administration = await context.openAdministration(flags)
    if (context.dryRun) return this.showLocalChange({ create: await administration.planKey(request) })
    const created = await administration.createKey(request)
    await context.output.showOnce(newKeyView, created, { name: 'key', value: created.key })
  }
}
