import { BaseCommand } from '../../cli/base-command.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { signInsView } from '../../view/auth.ts'
import { listSignIns, noticeDirectory } from './list-sign-ins.ts'

export default class AuthList extends BaseCommand {
  static override summary = 'List profiles and their credentials'
  static override requests = localWork
  static override view = signInsView
  static override examples = [
    { description: 'List the profiles', command: 'chatctl auth list' },
    { description: 'List them as JSON', command: 'chatctl auth list --json' },
    { description: 'Print only the names', command: 'chatctl auth list --fields profile' },
  ]

  // A default that is not there must not be in the way of mending it.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { context } = await this.start(AuthList)
    await context.output.show(signInsView, await listSignIns(context))
    noticeDirectory(context)
  }
}
