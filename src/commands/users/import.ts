import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandWith } from '../../cli/command-line.ts'
import { placeFlag, textFlag } from '../../cli/flag-types.ts'
import { bulkFlags, readBulkFlags } from '../../cli/import/bulk-flags.ts'
import { closeImport } from '../../cli/import/close-import.ts'
import { importFile } from '../../cli/import/import-file.ts'
import { generatePassword } from '../../cli/input/read-password.ts'
import { calls } from '../../cli/requests.ts'
import { dryRunFlag } from '../../cli/shared-flags.ts'
import { Failure } from '../../contract/failure.ts'
import { closedView, importView } from '../../view/import.ts'

export default class UsersImport extends BaseCommand {
  static override summary = 'Create and update users from a file of any size, under any quota.'
  static override description =
    'A row without id is created, one with id updated; role and permissions are assigned after. The whole file is checked before anything is sent. To resume an import, or to send rows that were added to the file, run the same command again: no user is created twice.'
  static override requests = calls('getProfile', 'createUser', 'updateUser', 'assignPermissions')
  static override view = importView
  static override examples = [
    '<%= config.bin %> users import users.csv --dry-run',
    '<%= config.bin %> users import users.csv --quota 100/h --max-wait 1h --yes',
    '<%= config.bin %> users import users.jsonl --generate-passwords --results results.csv',
    '<%= config.bin %> users import users.csv --on-unknown created --id ID --line 12',
  ]
  static override args = {
    file: Args.string({
      description: 'CSV, JSONL, JSON or YAML; - reads stdin.',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    ...bulkFlags(),
    'generate-passwords': Flags.boolean({
      dependsOn: ['results'],
      summary: 'Make up a password for every new user that has none; only --results has them.',
    }),
    'on-unknown': Flags.option({
      options: ['retry', 'created', 'skip'] as const,
      exclusive: ['restart', 'close'],
      helpValue: '<how>',
      summary: 'Settle rows whose outcome is unknown: retry, created (with --id), or skip.',
    })(),
    id: textFlag({
      helpValue: '<id>',
      dependsOn: ['on-unknown'],
      summary: 'Id of the user that was created.',
    }),
    line: placeFlag({
      helpValue: '<n>',
      dependsOn: ['on-unknown'],
      summary: 'With --on-unknown: only the row on this line, or at line:column.',
    }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersImport, ({ close }) =>
      close ? closedView : importView,
    )
    if (flags.close) {
      const { closeImports } = await import('../../bulk/journal/unfinished-imports.ts')
      return closeImport(context, closeImports, { file: args.file, kind: 'users' })
    }
    const { importRows } = await import('../../bulk/import-rows.ts')
    await importFile(context, importRows, {
      ...readBulkFlags(flags),
      file: args.file,
      kind: 'users',
      makePassword: flags['generate-passwords'] ? generatePassword : undefined,
      resolution: readResolution(flags['on-unknown'], flags.id),
      place: flags.line,
      settle: (as, place) =>
        commandWith(this, { 'on-unknown': as, line: place, id: as === 'created' ? 'ID' : undefined }, [
          'restart',
        ]),
    })
  }
}

/** @throws Failure `usage` for an id where none belongs, or where one is missing */
function readResolution(as: 'retry' | 'created' | 'skip' | undefined, id: string | undefined) {
  if (as === 'created') {
    if (id !== undefined) return { as, id }
    throw new Failure('usage', '--on-unknown created needs --id, the id that the service gave the user')
  }
  if (id !== undefined) throw new Failure('usage', `--id goes with --on-unknown created, not ${as}`)
  return as === undefined ? undefined : { as }
}
