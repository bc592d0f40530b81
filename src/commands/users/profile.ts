import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { profileView } from '../../view/users.ts'

export default class UsersProfile extends BaseCommand {
  static override summary = 'Show the user that the credential belongs to'
  static override requests = calls('getProfile')
  static override view = profileView
  static override examples = BaseCommand.toExamples({
    'Show your user': 'chatctl users profile',
    'Print your email address': "chatctl users profile --jq '.email'",
  })

  async run(): Promise<void> {
    const { context } = await this.start(UsersProfile)
    const client = await context.connect()
    await context.show(profileView, await client.users.profile())
  }
}
