import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../../cli/base-command.ts'
import { textFlag } from '../../../cli/flag-types.ts'
import { bulkFlags, readBulkFlags } from '../../../cli/import/bulk-flags.ts'
import { closeImport } from '../../../cli/import/close-import.ts'
import { importFile } from '../../../cli/import/import-file.ts'
import { showChanged } from '../../../cli/output/show-changed.ts'
import { calls } from '../../../cli/requests.ts'
import { dryRunFlag } from '../../../cli/shared-flags.ts'
import { Failure } from '../../../contract/failure.ts'
import { closedView, importView } from '../../../view/import.ts'
import { permissionsView } from '../../../view/users.ts'

export default class UsersPermissionsAssign extends BaseCommand {
  static override summary = 'Assign permissions and a role to a user, or to those of a file.'
  static override description =
    'Exactly what is given is sent. Whether a service replaces the earlier permissions or adds to them is its own choice; the embedded one replaces. A file is sent as users import does it: checked first, under a quota, and resumed by the same command. After a finished run, the same command sends every row again.'
  static override requests = {
    ...calls('assignPermissions'),
    note: 'and with `--file` one more to see the quota.',
  }
  static override completes = { id: 'permissions of a user' } as const
  static override view = permissionsView
  static override examples = [
    '<%= config.bin %> users permissions assign ID read:chat write:users --role editor',
    '<%= config.bin %> users permissions assign ID --role admin',
    '<%= config.bin %> users permissions assign --file roles.csv --yes',
  ]
  static override usage = [
    'users permissions assign ID [PERMISSION...] [--role <name>]',
    'users permissions assign --file <file>',
  ]
  static override args = {
    // oclif wants all that stands before a list to be required, and a file stands in for both.
    id: Args.string({
      description: 'Id of the user, then permissions: <action>:<resource>, such as read:chat.',
      multiple: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    role: textFlag({ char: 'r', helpValue: '<name>', summary: 'Role of the user.' }),
    file: textFlag({
      char: 'f',
      helpValue: '<file>',
      exclusive: ['role'],
      summary: 'Rows of id, role and permissions: CSV, JSONL, JSON or YAML; - is stdin.',
    }),
    ...bulkFlags('file'),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersPermissionsAssign, ({ file, close }) =>
      file === undefined ? permissionsView : close ? closedView : importView,
    )
    const [id, ...permissions] = args.id ?? []
    if (flags.file !== undefined) {
      if (id !== undefined) throw new Failure('usage', `--file cannot be combined with the user ID ${id}`)
      if (flags.close) {
        const { closeImports } = await import('../../../bulk/journal/unfinished-imports.ts')
        return closeImport(context, closeImports, { file: flags.file, kind: 'assignments' })
      }
      const { importRows } = await import('../../../bulk/import-rows.ts')
      return importFile(context, importRows, {
        ...readBulkFlags(flags),
        file: flags.file,
        kind: 'assignments',
      })
    }
    if (id === undefined) {
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
      ...(flags.role === undefined ? {} : { role: flags.role }),
    }
    const answer = await this.change(client.users.assignPermissions(id, assignment))
    const changed = { done: `Updated the permissions of user ${id}`, resource: 'them', id }
    await showChanged(permissionsView, answer, changed, context)
  }
}
