import { BaseCommand } from '../../../cli/base-command.ts'
import { serviceData } from '../../../cli/documented-requests.ts'
import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { userDetailsView } from '../../../view/service.ts'
import { changeFlags } from '../service-flags.ts'

export default class ServiceUsersEnable extends BaseCommand {
  static override summary = 'Give a disabled user access again'
  static override description =
    'API keys and trusts that were not revoked are valid again. The user signs in again, with the same password and second factor.'
  static override requests = serviceData
  static override view = userDetailsView
  static override examples = [
    { description: 'Enable a user', command: 'chatctl service users enable grace@example.com' },
    { description: 'Try it', command: 'chatctl service users enable grace@example.com --dry-run' },
  ]
  static override args = { user: requiredArgument('Email address or ID of the user') }
  static override flags = changeFlags

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceUsersEnable)
    const administration = await context.administration.openToChange(flags)
    const user = await administration.describeUser(args.user)
    if (context.dryRun) return this.showLocalChange({ enable: user })
    await context.output.show(userDetailsView, await administration.enableUser(user.id))
  }
}
