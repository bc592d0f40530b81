import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../../cli/base-command.ts'
import { newPasswordFlags, readNewPassword } from '../../../cli/input/read-password.ts'
import { serviceData } from '../../../cli/requests.ts'
import { databaseFlag, dataFlag } from '../../../cli/service-flags.ts'
import { dryRunFlag } from '../../../cli/shared-flags.ts'
import { accountView } from '../../../view/service.ts'

export default class ServiceUsersReset extends BaseCommand {
  static override summary = 'Let somebody back in who lost a password or a second factor.'
  static override description =
    'Sets a new password, on the machine of the service, while it runs or not. The second factor and all sign-ins end, and failed attempts are cleared; keys stay. The password is asked for twice, or comes from stdin or a file.'
  static override requests = serviceData
  static override view = accountView
  static override examples = [
    '<%= config.bin %> service users reset ada@example.com',
    '<%= config.bin %> service users reset ada@example.com --password-file password.txt',
  ]
  static override args = {
    user: Args.string({ description: 'E-mail address or id.', required: true, ignoreStdin: true }),
  }
  static override flags = {
    ...newPasswordFlags,
    data: dataFlag,
    database: databaseFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceUsersReset)
    const administration = await context.openAdministration(flags)
    // Better known before anybody types a password.
    const { id, email } = await administration.findAccount(args.user)
    if (context.dryRun) return this.showLocalChange({ reset: { id, email } })
    const password = await readNewPassword(flags, context)
    await context.output.show(accountView, await administration.resetAccount(id, password))
  }
}
