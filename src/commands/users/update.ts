import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { requiredArgument, switchFlag, textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, metadataFlag } from '../../cli/flags/shared-flags.ts'
import { parseKeyValues } from '../../cli/input/key-values.ts'
import { showChanged } from '../../cli/output/show-response.ts'
import type { UpdateUserRequest } from '../../contract/resources/user.ts'
import { userView } from '../../view/users.ts'
import { findUserNote, userToChange, userToChangeArgument } from './existing-user.ts'

export default class UsersUpdate extends BaseCommand {
  static override summary = "Change a user's name, metadata, or preferences"
  static override description =
    'Only the values you give are sent. If an earlier change of the user has an unknown outcome or is in progress, a warning says so.'
  static override requests = { ...calls('updateUser'), note: findUserNote }
  static override view = userView
  static override examples = BaseCommand.toExamples({
    'Change the name': 'chatctl users update ID --name "Ada Lovelace"',
    'Change metadata and preferences':
      'chatctl users update ID --metadata company=Acme --theme dark --notifications off',
    'Print the request without sending it': 'chatctl users update ID --metadata seats:=5 --dry-run',
  })
  static override args = { id: requiredArgument(userToChangeArgument) }
  static override flags = {
    name: textFlag({ helpValue: 'TEXT', summary: 'Full name' }),
    metadata: metadataFlag,
    theme: textFlag({ helpValue: 'NAME', summary: 'Theme of the user' }),
    notifications: switchFlag({ summary: 'Notifications of the user' }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersUpdate)
    const settings = {
      ...(flags.theme === undefined ? {} : { theme: flags.theme }),
      ...(flags.notifications === undefined ? {} : { notifications_enabled: flags.notifications }),
    }
    const patch: UpdateUserRequest = {
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...(flags.metadata === undefined ? {} : { metadata: parseKeyValues(flags.metadata, '--metadata') }),
      ...(Object.keys(settings).length === 0 ? {} : { settings }),
    }
    this.demandChange(patch)
    const client = await context.connect()
    const id = await userToChange(context, args.id)
    const response = await this.change(client.users.update(id, patch))
    const changed = { done: `Updated user ${id}`, resource: 'the user', id, sent: patch }
    await showChanged(userView, response, changed, context)
  }
}
