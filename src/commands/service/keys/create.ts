import { argumentOrFlag } from '../../../cli/flags/argument-or-flag.ts'
import { argument, textFlag } from '../../../cli/flags/flag-types.ts'
import { Failure } from '../../../contract/failure.ts'
import { newKeyView } from '../../../view/service.ts'
import { changeFlags, ServiceCommand } from '../service-command.ts'
import { keyFlags, keyPermissions, planned, tierFlag } from '../service-flags.ts'

export default class ServiceKeysCreate extends ServiceCommand {
  static override summary = 'Create an API key for the embedded service'
  static override description =
    'The key is printed once; the service stores only a hash. A key never has more permissions than its user.'
  static override view = newKeyView
  static override examples = ServiceCommand.toExamples({
    'Create a key for CI': 'chatctl service keys create ci --tier pro --expires 90d',
    'Create a key for a user': 'chatctl service keys create bot --user ada@example.com',
    'Print only the key': 'chatctl service keys create reader --permission read:users --jq .key',
  })
  static override args = { name: argument('Name of the key') }
  static override flags = {
    name: textFlag({ helpValue: 'TEXT', summary: 'Same as NAME' }),
    tier: tierFlag,
    ...keyFlags,
    user: textFlag({
      helpValue: 'USER',
      summary: 'User of the key: ID or email address (default: the built-in admin)',
    }),
    ...changeFlags,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceKeysCreate)
    const name = argumentOrFlag(args.name, flags, 'name')
    if (!name?.trim())
      throw new Failure('usage', 'Missing argument NAME', {
        hint: 'For example: chatctl service keys create ci',
      })
    const { tier, limit, user, expires } = flags
    const permissions = keyPermissions(flags.permission) ?? undefined
    const request = { name, tier, limit, user, permissions, expiresAt: expires?.at ?? undefined }
    const administration = await context.administration.openToChange(flags)
    const created = await administration.createKey(request)
    if (context.dryRun) return this.showLocalChange({ create: planned(created) })
    await context.output.showOnce(newKeyView, created, { name: 'key', value: created.key })
  }
}
