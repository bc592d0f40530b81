import { BaseCommand } from '../../../cli/base-command.ts'
import { calls } from '../../../cli/documented-requests.ts'
import { textFlag, textListFlag } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { parseSwitches } from '../../../cli/input/key-values.ts'
import { showChanged } from '../../../cli/output/show-response.ts'
import type { UserSettingsRequest } from '../../../contract/resources/user.ts'
import { userSettingsView } from '../../../view/users.ts'

export default class UsersSettingsSet extends BaseCommand {
  static override summary = 'Change your own preferences'
  static override description = 'Only the values you give are sent. To see all, use settings preferences.'
  static override requests = calls('updateUserSettings')
  static override view = userSettingsView
  static override examples = BaseCommand.toExamples({
    'Change the theme and the language': 'chatctl users settings set --theme dark --language de',
    'Turn notifications on and off':
      'chatctl users settings set --notification email=off --notification push=on',
    'Print the request without sending it': 'chatctl users settings set --theme light --dry-run',
  })
  static override flags = {
    theme: textFlag({ helpValue: 'NAME', summary: 'Theme' }),
    language: textFlag({ helpValue: 'CODE', summary: 'Language code, such as en' }),
    notification: textListFlag({
      helpValue: 'KEY=on|off',
      summary: 'Notification; KEY:=JSON for other values',
    }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(UsersSettingsSet)
    const request: UserSettingsRequest = {
      ...(flags.theme === undefined ? {} : { theme: flags.theme }),
      ...(flags.language === undefined ? {} : { language: flags.language }),
      ...(flags.notification === undefined
        ? {}
        : { notifications: parseSwitches(flags.notification, '--notification') }),
    }
    this.demandChange(request)
    const client = await context.connect()
    const answer = await this.change(client.users.updateSettings(request))
    const changed = { done: 'Updated your preferences', resource: 'them', sent: { settings: request } }
    await showChanged(userSettingsView, answer, changed, context)
  }
}
