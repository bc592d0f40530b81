import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../../cli/base-command.ts'
import { textFlag } from '../../../cli/flag-types.ts'
import { newPasswordFlags, readNewPassword } from '../../../cli/input/read-password.ts'
import { serviceData } from '../../../cli/requests.ts'
import { databaseFlag, dataFlag } from '../../../cli/service-flags.ts'
import { dryRunFlag } from '../../../cli/shared-flags.ts'
import { accountView } from '../../../view/service.ts'

export default class ServiceAdminCreate extends BaseCommand {
  static override summary = 'Create a user with the role admin, on the machine of the service.'
  static override description =
    'The way in for the first admin, while the service runs or not. The password is asked for twice, or comes from stdin or a file.'
  static override requests = serviceData
  static override view = accountView
  static override examples = [
    '<%= config.bin %> service admin create ada@example.com --name "Ada"',
    '<%= config.bin %> service admin create ada@example.com --password-file password.txt',
  ]
  static override args = {
    email: Args.string({ description: 'E-mail address to sign in with.', required: true, ignoreStdin: true }),
  }
  static override flags = {
    name: textFlag({ helpValue: '<text>', summary: 'Full name.' }),
    ...newPasswordFlags,
    data: dataFlag,
    database: databaseFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceAdminCreate)
    const { name = '' } = flags
    const { email } = args
    const administration = await context.openAdministration(flags)
    // Better known before anybody types a password.
    await administration.checkAdmin({ email, name })
    if (context.dryRun) return this.showLocalChange({ create: { email, name, role: 'admin' } })
    const password = await readNewPassword(flags, context)
    await context.output.show(accountView, await administration.createAdmin({ email, name, password }))
  }
}
