import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../../cli/base-command.ts'
import { textFlag } from '../../../cli/flag-types.ts'
import { dryRunFlag } from '../../../cli/shared-flags.ts'
import { Failure } from '../../../failure.ts'
import { permissionsView } from '../../../view/users.ts'

export default class UsersPermissionsAssign extends BaseCommand {
  static override summary = 'Assign permissions and a role to a user.'
  static override description =
    'Exactly what is given is sent. Whether a service replaces the earlier permissions or adds to them is its own choice; the embedded one replaces.'
  static override examples = [
    '<%= config.bin %> users permissions assign ID read:chat write:users --role editor',
    '<%= config.bin %> users permissions assign ID --role admin',
  ]
  static override usage = 'users permissions assign ID [PERMISSION...]'
  static override args = {
    id: Args.string({ description: 'Id of the user.', required: true, ignoreStdin: true }),
    permission: Args.string({
      description: '<action>:<resource>, such as read:chat.',
      multiple: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    role: textFlag({ char: 'r', helpValue: '<name>', summary: 'Role of the user.' }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersPermissionsAssign, permissionsView)
    const { permission: permissions } = args
    if (permissions === undefined && flags.role === undefined) {
      throw new Failure('usage', 'Neither a permission nor a role was given', {
        hint: 'chatctl users permissions assign ID read:chat --role editor',
      })
    }
    const client = await context.connect()
    const answer = await client.users.assignPermissions(args.id, {
      ...(permissions === undefined ? {} : { permissions }),
      ...(flags.role === undefined ? {} : { role: flags.role }),
    })
    await context.show(permissionsView, answer)
  }
}
