import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { argumentOrFlag } from '../../cli/flags/argument-or-flag.ts'
import { argument, textFlag } from '../../cli/flags/flag-types.ts'
import { formatOfFile } from '../../cli/output/format-of-file.ts'
import { warnOfResponse } from '../../cli/output/warn-of-response.ts'
import { Failure } from '../../contract/failure.ts'
import { valueAt } from '../../contract/notation/tree.ts'
import { settingsDocument, settingsKeys } from '../../contract/resources/settings-file.ts'
import { countOf } from '../../view/format/quantities.ts'
import { settingsFileView } from '../../view/settings-file-view.ts'

const formats = { yaml: 'yaml', yml: 'yaml', json: 'json' } as const

export default class SettingsExport extends BaseCommand {
  static override summary = 'Export the settings as a settings file'
  static override description =
    'The file is YAML with a comment for each setting. Undocumented settings, and values that chatctl cannot set, are comments, or under $unmanaged with --json. To apply an undocumented setting, remove its # and pass --allow-unknown-keys.'
  static override requests = calls('getSettings')
  static override view = settingsFileView
  static override examples = BaseCommand.toExamples({
    'Save the settings to a file': 'chatctl settings export settings.yaml',
    'Print them as JSON': 'chatctl settings export --json',
    'Export the settings of another profile': 'chatctl settings export --profile work --to work.yaml',
  })
  static override args = { file: argument('Same as --to') }
  static override flags = {
    to: textFlag({
      helpValue: 'FILE',
      summary: 'File to write or replace, .yaml or .json (default: -, stdout)',
    }),
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(SettingsExport)
    const { output, options } = context
    const file = argumentOrFlag(args.file, flags, 'to') ?? '-'
    const { value, source } = options.output
    const isOther = output.isFiltered || (source === 'flag' && !Object.hasOwn(formats, String(value)))
    if (file !== '-' && isOther) {
      throw new Failure('usage', 'A settings file is YAML or JSON, without --fields and --jq', {
        hint: 'Omit the file, and redirect stdout with: > FILE',
      })
    }
    const isJson = file !== '-' && formatOfFile(file, formats, options.output) === 'json'
    const client = await context.connect()
    const answer = await client.settings.get()
    const body = settingsDocument(answer.body ?? {})
    await warnOfResponse(answer, output)
    if (file === '-') await output.show(settingsFileView, body)
    else await output.save(context.resolvePath(file), settingsFileView, body, isJson ? 'json' : 'text')
    const paths = settingsKeys.map(({ path }) => path)
    const saved = paths.filter((path) => valueAt(body, path) !== undefined)
    if (file !== '-') output.progress(`${countOf(saved.length, 'setting')} in ${file}`)
    const invalid = paths.filter((path) => valueAt(body.$unmanaged, path) != null)
    if (invalid.length > 0) {
      output.notice(`chatctl cannot set these values of the service: ${invalid.join(', ')}`)
    }
  }
}
