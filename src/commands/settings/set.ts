import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { requiredArguments } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { allowUnknownKeysFlag } from '../../cli/input/read-sources.ts'
import { readAssignments } from '../../cli/input/settings-assignments.ts'
import { settingsView } from '../../view/settings.ts'

export default class SettingsSet extends BaseCommand {
  static override summary = 'Change settings of the service'
  static override description =
    'Only the keys you name are sent. chatctl then reads them back: the exit code is 7 if a change did not take effect, and 69 if its outcome is unknown. KEY=@FILE reads the value from a file, KEY=- from stdin. For a value that begins with @, use KEY=@@TEXT. With --allow-unknown-keys, KEY:=JSON sets a key to a value of another type than text.'
  static override requests = calls('updateSettings', 'getSettings')
  static override completes = { 'key=value': 'settings assignment' } as const
  static override view = settingsView
  static override examples = BaseCommand.toExamples({
    'Change two settings': 'chatctl settings set theme.mode=dark limits.max_tokens=4096',
    'Print the request without sending it': 'chatctl settings set features.chat=on --dry-run',
    'Read a value from a file': 'chatctl settings set app_name=@name.txt',
  })
  static override args = { 'key=value': requiredArguments('Key and new value, such as theme.mode=dark') }
  static override flags = { 'allow-unknown-keys': allowUnknownKeysFlag, 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(SettingsSet)
    const patch = await readAssignments(args['key=value'], flags['allow-unknown-keys'], context)
    // The held request ends the command here.
    if (context.dryRun) {
      const { settings } = await context.connect()
      return void (await settings.update(patch, { allowsUnknownFields: true }))
    }
    // Before the lock, which creates a directory.
    context.demandNamedService()
    const { setSettings } = await import('../../settings/apply/change-settings.ts')
    const { read, response } = await setSettings(context, patch)
    const hasBody = Object.keys(response?.body ?? {}).length > 0
    if (response) await context.show(settingsView, hasBody ? response : { ...response, body: read })
    else await context.output.show(settingsView, read)
  }
}
