import { requiredArgument, textFlag } from '../../../cli/flags/flag-types.ts'
import { newPasswordFlags, readNewPassword } from '../../../cli/input/read-password.ts'
import { userListView } from '../../../view/service.ts'
import { changeFlags, ServiceCommand } from '../service-command.ts'
import { planned } from '../service-flags.ts'

export default class ServiceAdminCreate extends ServiceCommand {
  static override summary = 'Create an admin of the embedded service'
  static override description =
    'Run it on the machine of the service; the service may be running or stopped. Without a flag for the password, chatctl prompts for it twice.'
  static override view = userListView
  static override nonInteractive = [Object.keys(newPasswordFlags)]
  static override examples = ServiceCommand.toExamples({
    'Create an admin': 'chatctl service admin create ada@example.com --name "Ada"',
    'Read the password from a file':
      'chatctl service admin create ada@example.com --password-file password.txt',
    'Show what would be created': 'chatctl service admin create ada@example.com --dry-run',
  })
  static override args = { email: requiredArgument('Email address') }
  static override flags = {
    name: textFlag({ helpValue: 'TEXT', summary: 'Full name' }),
    ...newPasswordFlags,
    ...changeFlags,
  }

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceAdminCreate)
    const { name = '' } = flags
    const { email } = args
    // Before the password prompt, so that a conflict fails first.
    const admin = await administration.checkAdmin({ email, name })
    if (context.dryRun) return this.showLocalChange({ create: planned(admin) })
    const password = await readNewPassword(flags, context)
    await context.output.show(userListView, await administration.createAdmin({ email, name, password }))
  }
}
