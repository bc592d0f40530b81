import * as Flags from '@oclif/core/flags'
import { newPasswordFlags, readNewPassword } from '../../../cli/input/read-password.ts'
import { userListView } from '../../../view/service.ts'
import { confirmedFlags, ServiceCommand, userArgument } from '../service-command.ts'

export default class ServiceUsersReset extends ServiceCommand {
  static override summary = 'Reset the password and second factor of a user'
  static override description =
    'Run it on the machine of the service; the service may be running or stopped. All sign-in sessions of the user end and failed sign-in attempts are cleared; API keys stay valid. Without a flag about the password, chatctl prompts for a new one twice.'
  static override view = userListView
  static override nonInteractive = [Object.keys(newPasswordFlags)]
  static override examples = ServiceCommand.toExamples({
    'Prompt for a new password': 'chatctl service users reset ada@example.com',
    'Read the password from a file':
      'chatctl service users reset ada@example.com --password-file password.txt --yes',
    'Reset only the second factor, such as that of a lost phone':
      'chatctl service users reset ada@example.com --keep-password',
  })
  static override args = userArgument
  static override flags = {
    ...newPasswordFlags,
    'keep-password': Flags.boolean({
      summary: 'Keep the password, and reset only the second factor',
      exclusive: Object.keys(newPasswordFlags),
    }),
    ...confirmedFlags,
  }

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceUsersReset)
    // Before the password prompt, so that an unknown user fails first.
    const { id, email } = await administration.describeUser(args.user)
    if (context.dryRun) return this.showLocalChange({ reset: { id, email } })
    if (!flags.yes)
      await context.prompter.confirm(`Reset ${email} and end all sign-in sessions of this user?`)
    const password = flags['keep-password'] ? undefined : await readNewPassword(flags, context)
    await context.output.show(userListView, await administration.resetAccount(id, password))
  }
}
