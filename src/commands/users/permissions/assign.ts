import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../../cli/base-command.ts'
import { calls } from '../../../cli/documented-requests.ts'
import { textFlag } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { showChanged } from '../../../cli/output/show-response.ts'
import { Failure } from '../../../contract/failure.ts'
import { closedView, importView, permissionsView } from '../../../view/users.ts'
import { bulkFlags, readBulkFlags } from '../bulk-flags.ts'
import { findUserNote, userToChange } from '../existing-user.ts'
import { closeImport, importFile } from '../import-file.ts'

export default class UsersPermissionsAssign extends BaseCommand {
  static override summary = 'Assign permissions and a role to users'
  static override description =
    'Only the values you give are sent. Some services replace the existing permissions with the new ones, and others add the new ones. The embedded service replaces them. A file is checked before anything is sent, and an interrupted import is resumed by the same command. After a finished import, the same command sends every row again.'
  static override requests = {
    ...calls('assignPermissions'),
    note: `and with \`--file\` one more to read the rate limit, ${findUserNote}`,
  }
  static override completes = { id: 'permissions of a user' } as const
  static override view = permissionsView
  static override otherViews = { '--file': importView, '--close': closedView }
  static override examples = BaseCommand.toExamples({
    'Assign permissions and a role':
      'chatctl users permissions assign ID read:chat write:users --role editor',
    'Assign only a role': 'chatctl users permissions assign ID --role admin',
    'Assign from a file': 'chatctl users permissions assign --file roles.csv --yes',
  })
  static override usage = [
    'users permissions assign ID [PERMISSION...]',
    'users permissions assign --file FILE',
  ]
  static override args = {
    // oclif requires every argument before a list, but --file replaces both.
    id: Args.string({
      description:
        'The first argument is the ID of the user (also as id:ID), or an email address that the ledger knows. Each further argument is a permission ACTION:RESOURCE, such as read:chat.',
      multiple: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    role: textFlag({ char: 'r', helpValue: 'NAME', summary: 'Role of the user' }),
    file: textFlag({
      char: 'f',
      helpValue: 'FILE',
      exclusive: ['role'],
      summary: 'File with columns id, role, and permissions (CSV, JSONL, JSON, or YAML), or - for stdin',
    }),
    ...bulkFlags('file'),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersPermissionsAssign, ({ file, close }) =>
      file === undefined ? permissionsView : close ? closedView : importView,
    )
    const [user, ...permissions] = args.id ?? []
    if (flags.file !== undefined) {
      if (user !== undefined) throw new Failure('usage', `--file cannot be combined with the user ID ${user}`)
      const { file } = flags
      if (flags.close) return closeImport(context, { file, kind: 'assignments' })
      return importFile(context, { ...readBulkFlags(flags), file, kind: 'assignments' })
    }
    if (user === undefined) {
      throw new Failure('usage', 'Missing argument ID', {
        hint: 'See: chatctl users permissions assign --help',
      })
    }
    if (permissions.length === 0 && flags.role === undefined) {
      throw new Failure('usage', 'No permission and no role was given', {
        hint: 'For example: chatctl users permissions assign ID read:chat --role editor',
      })
    }
    const client = await context.connect()
    const assignment = {
      ...(permissions.length === 0 ? {} : { permissions }),
      ...(flags.role === undefined ? {} : { role: flags.role.trim() }),
    }
    const id = await userToChange(context, user)
    const response = await this.change(client.users.assignPermissions(id, assignment))
    const changed = { done: `Updated the permissions of user ${id}`, resource: 'them', id, sent: assignment }
    await showChanged(permissionsView, response, changed, context)
  }
}
