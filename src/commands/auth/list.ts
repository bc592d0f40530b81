import { BaseCommand } from '../../cli/base-command.ts'
import { localWork } from '../../cli/requests.ts'
import { listSignIns } from '../../cli/sign-in/list-sign-ins.ts'
import { signInsView } from '../../view/auth.ts'

export default class AuthList extends BaseCommand {
  static override summary = 'List the profiles, and what each is signed in with.'
  static override requests = localWork
  static override view = signInsView
  static override examples = ['<%= config.bin %> auth list', '<%= config.bin %> auth list --json']

  // A default that is not there must not be in the way of mending it.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { context } = await this.start(AuthList)
    await context.output.show(signInsView, await listSignIns(context))
  }
}
