import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/requests.ts'
import { profileView } from '../../view/users.ts'

export default class UsersProfile extends BaseCommand {
  static override summary = 'Show the user to whom the credential belongs.'
  static override requests = calls('getProfile')
  static override view = profileView
  static override examples = ['<%= config.bin %> users profile']

  async run(): Promise<void> {
    const { context } = await this.start(UsersProfile)
    const client = await context.connect()
    await context.show(profileView, await client.users.profile())
  }
}
