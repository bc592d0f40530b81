import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandWith } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { placeFlag, requiredArgument, textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { generatePassword } from '../../cli/input/read-password.ts'
import { Failure } from '../../contract/failure.ts'
import type { RowAdoption } from '../../users/adopt-rows.ts'
import { countOf } from '../../view/format/quantities.ts'
import { closedView, importForecastView, importView } from '../../view/users.ts'
import { bulkFlags, readBulkFlags } from './bulk-flags.ts'
import { closeImport, type FileOptions, importFile } from './import-file.ts'
import { stateFlag, stateOf, withoutIdsFlag } from './user-files-flags.ts'

export default class UsersImport extends BaseCommand {
  static override summary = 'Create and update users from a file'
  static override description =
    'Columns: id, email, name, password, role, permissions (separated by ;), metadata.KEY (text), metadata.KEY:= (JSON), settings.theme, and settings.notifications_enabled. A row without an id creates a user, and a row with an id updates one. In both cases, chatctl then assigns the role and the permissions of the row. A user that was created from this machine before is found by email, and is not created again.\n\nThe format of the whole file is checked before anything is sent; the service can still reject a row. To resume an import, or to send rows that were added to the file, run the same command again.\n\nIf the response to the creation of a user is lost, the outcome of the row is unknown, and the row is not sent again. Check the service, and then use --on-unknown.'
  static override requests = calls('getProfile', 'getUser', 'createUser', 'updateUser', 'assignPermissions')
  static override view = importView
  static override otherViews = { '--close': closedView, '--dry-run': importForecastView }
  static override examples = BaseCommand.toExamples({
    'Check a file, count the requests, and show the first ones': 'chatctl users import users.csv --dry-run',
    'Import within a quota, without confirmation':
      'chatctl users import users.csv --quota 100/h --max-wait 1h --yes',
    'Generate passwords': 'chatctl users import users.jsonl --generate-passwords --results results.csv',
    'Record that the user of line 12 exists, with this ID':
      'chatctl users import users.csv --on-unknown created --id ID --line 12',
  })
  static override args = { file: requiredArgument('CSV, JSONL, JSON, or YAML file, or - for stdin') }
  static override flags = {
    ...bulkFlags(),
    'generate-passwords': Flags.boolean({
      dependsOn: ['results'],
      summary: 'Generate passwords for new users without one; requires --results, which receives them',
    }),
    'on-unknown': Flags.option({
      options: ['retry', 'created', 'skip'] as const,
      exclusive: ['restart', 'close'],
      helpValue: 'ACTION',
      summary: 'For rows with an unknown outcome: retry, skip, or created (the user exists; give its --id)',
    })(),
    id: textFlag({
      helpValue: 'ID',
      dependsOn: ['on-unknown'],
      summary: 'With --on-unknown created: the ID of the existing user',
    }),
    line: placeFlag({
      helpValue: 'LINE',
      dependsOn: ['on-unknown'],
      summary: 'Apply --on-unknown only to the row at this line, or LINE:COLUMN',
    }),
    'allow-duplicates': Flags.boolean({
      exclusive: ['close'],
      summary: 'Create users again whom another file or command has created from this machine',
    }),
    'without-ids': withoutIdsFlag,
    state: stateFlag('Add the users to this state file, for users diff and users apply', ['close']),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersImport, ({ close }) =>
      close ? closedView : importView,
    )
    if (flags.close) return closeImport(context, { file: args.file, kind: 'users' })
    const options: FileOptions = {
      ...readBulkFlags(flags),
      file: args.file,
      kind: 'users',
      allowDuplicates: flags['allow-duplicates'],
      withoutIds: flags['without-ids'],
      makePassword: flags['generate-passwords'] ? generatePassword : undefined,
      resolution: readResolution(flags['on-unknown'], flags.id),
      place: flags.line,
      resolvingCommand: (as, place) =>
        commandWith(this, { 'on-unknown': as, line: place, id: as === 'created' ? 'ID' : undefined }, [
          'restart',
        ]),
    }
    if (flags.state === undefined) await importFile(context, options)
    else await importAndAdopt(context, flags.state, options)
  }
}

/** Opens the state file before anything is sent, and adds the rows to it in the end. */
async function importAndAdopt(context: Context, name: string, options: FileOptions): Promise<void> {
  const [{ KnownUsers, withState }, { adoptRows }] = await Promise.all([
    import('../../users/known-users.ts'),
    import('../../users/adopt-rows.ts'),
  ])
  let adoption: RowAdoption | undefined
  try {
    const opening = stateOf(context, name, context.dryRun ? 'read' : 'write', options.results)
    await withState(context, opening, (state, before) =>
      importFile(context, { ...options, known: before }, (rows) => {
        adoption = adoptRows(rows, { state, before, after: new KnownUsers(context) })
      }),
    )
  } finally {
    if (adoption) await tellAdoption(context, name, adoption)
  }
  if (adoption?.failure) throw adoption.failure
}

async function tellAdoption({ output }: Context, name: string, adoption: RowAdoption): Promise<void> {
  const { adopted, withoutEmail, contradicting, failure } = adoption
  if (adopted > 0) output.notice(`${name} has ${countOf(adopted, 'user')} of this file.`)
  const words = [
    ...(withoutEmail > 0 ? [`${countOf(withoutEmail, 'row')} without an email`] : []),
    ...(contradicting > 0
      ? [`${countOf(contradicting, 'row')} whose email or id belongs to another user there`]
      : []),
  ]
  if (words.length > 0) await output.warn(`Not added to ${name}: ${words.join(', ')}`)
  if (failure) await output.warn(`Not all users were added to ${name}. Run the same command again.`)
}

/** @throws Failure `usage` if --id is missing or unexpected */
function readResolution(as: 'retry' | 'created' | 'skip' | undefined, id: string | undefined) {
  if (as === 'created') {
    if (id !== undefined) return { as, id }
    throw new Failure('usage', '--on-unknown created requires --id, the ID of the created user')
  }
  if (id !== undefined)
    throw new Failure('usage', `--id can be used only with --on-unknown created, not ${as}`)
  return as === undefined ? undefined : { as }
}
