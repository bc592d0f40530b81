import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { textFlag } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { newKeyView } from '../../../view/service.ts'
import { dataFlags, keyFlags, keyPermissions, planned, tierFlag } from '../service-flags.ts'

export default class ServiceKeysCreate extends BaseCommand {
  static override summary = 'Create an API key for the embedded service'
  static override description =
    'The key is printed once; the service stores only a hash. A key never has more permissions than its user.'
  static override requests = serviceData
  static override view = newKeyView
  static override examples = [
    {
      description: 'Create a key for CI',
      command: 'chatctl service keys create --name ci --tier pro --expires 90d',
    },
    {
      description: 'Create a key for a user',
      command: 'chatctl service keys create --name bot --user ada@example.com',
    },
    {
      description: 'Print only the key',
      command: 'chatctl service keys create --name reader --permission read:users --jq .key',
    },
    {
      description: 'Set an hourly limit',
      command: 'chatctl service keys create --name big --tier enterprise --limit 50000',
    },
  ]
  static override flags = {
    name: textFlag({ helpValue: 'TEXT', required: true, summary: 'Name of the key' }),
    tier: tierFlag,
    ...keyFlags,
    user: textFlag({
      helpValue: 'USER',
      summary: 'User of the key: ID or email address (default: the built-in administrator)',
    }),
    ...dataFlags,
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
    const administration = await context.administration.openToChange(flags)
    const created = await administration.createKey(request)
    if (context.dryRun) return this.showLocalChange({ create: planned(created) })
    await context.output.showOnce(newKeyView, created, { name: 'key', value: created.key })
  }
}
