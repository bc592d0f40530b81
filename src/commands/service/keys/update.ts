import * as Flags from '@oclif/core/flags'
import { textFlag } from '../../../cli/flags/flag-types.ts'
import { keyView } from '../../../view/service.ts'
import { changeFlags, keyArgument, ServiceCommand } from '../service-command.ts'
import { keyFlags, keyPermissions, planned, tiers } from '../service-flags.ts'

export default class ServiceKeysUpdate extends ServiceCommand {
  static override summary = 'Change an API key of the embedded service'
  static override description =
    'Values that you omit are not changed; --permission replaces the permissions. Service processes apply the change to the next request.'
  static override view = keyView
  static override examples = ServiceCommand.toExamples({
    'Change the tier': 'chatctl service keys update ci --tier pro',
    'Limit a key to chat':
      'chatctl service keys update KEY_ID --permission read:chat --permission write:chat',
    'Remove all limits': 'chatctl service keys update KEY_ID --permission all --expires never',
  })
  static override args = keyArgument
  static override flags = {
    name: textFlag({ helpValue: 'TEXT', summary: 'Name of the key' }),
    tier: Flags.option({
      helpValue: 'TIER',
      options: tiers,
      summary: 'Tier, which sets the hourly limit: free, pro, or enterprise',
    })(),
    ...keyFlags,
    ...changeFlags,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceKeysUpdate)
    const { name, tier, limit, expires } = flags
    const permissions = keyPermissions(flags.permission)
    const change = { name, tier, limit, permissions, expiresAt: expires?.at }
    this.demandChange(change)
    const administration = await context.administration.openToChange(flags)
    const updated = await administration.updateKey(args.key, change)
    if (context.dryRun) return this.showLocalChange({ update: updated.id, ...planned(updated) })
    await context.output.show(keyView, updated)
  }
}
