import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { concurrencyFlag, defaultConcurrency } from '../../cli/bulk-flags.ts'
import { calls } from '../../cli/documented-requests.ts'
import { quotaFlag, textFlag } from '../../cli/flag-types.ts'
import { generatePassword } from '../../cli/input/read-password.ts'
import { expandEnvFlag } from '../../cli/input/read-sources.ts'
import { dryRunFlag, yesFlag } from '../../cli/shared-flags.ts'
import { applyFiles } from '../../cli/users/apply-files.ts'
import { Failure } from '../../contract/failure.ts'
import type { PasswordChoice } from '../../reconcile/apply/password-source.ts'
import { appliedUsersView } from '../../view/applied-users.ts'

export default class UsersApply extends BaseCommand {
  static override summary = 'Create and change users so that they match files'
  static override description =
    'Users are matched by email with a state file, which has their IDs and hashes of what was last sent. Only fields that differ are sent, and then read back. The role and the permissions cannot be read: they are sent if they differ from what was last sent.\n\nRun the same command again after an interruption. A create whose outcome is unknown is not sent again.'
  static override requests = {
    ...calls('getUser', 'createUser', 'updateUser', 'assignPermissions'),
    note: 'then reads the users back.',
  }
  static override view = appliedUsersView({ created: 0, changed: 0, sent: 0, left: 0 }, true)
  static override examples = [
    {
      description: 'Apply a file, and generate the passwords of new users',
      command: 'chatctl users apply users.yaml --results new-users.csv',
    },
    {
      description: 'Apply two files in CI',
      command: 'chatctl users apply users.csv --file admins.csv --no-password --yes',
    },
  ]
  static override args = {
    file: Args.string({
      description: 'File of users (CSV, JSONL, JSON, or YAML), or - for stdin',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    file: textFlag({
      char: 'f',
      helpValue: 'FILE',
      multiple: true,
      multipleNonGreedy: true,
      summary: 'Another file of users',
    }),
    state: textFlag({
      helpValue: 'FILE',
      summary: 'State file (default: NAME.state.json beside the first file)',
    }),
    'expand-env': expandEnvFlag,
    'no-refresh': Flags.boolean({
      summary: 'Compare with the state file alone, and send only what the files changed since the last run',
    }),
    results: textFlag({
      helpValue: 'FILE',
      exclusive: ['password-command', 'no-password'],
      summary: 'Generate the passwords of new users, and write them to a .csv or .jsonl file',
    }),
    'password-command': textFlag({
      helpValue: 'COMMAND',
      exclusive: ['no-password'],
      summary:
        'Run a command for each new user; its first line is the password ($CHATCTL_EMAIL is the email)',
    }),
    'no-password': Flags.boolean({ summary: 'Create new users without a password' }),
    'recreate-missing': Flags.boolean({ summary: 'Create users again that the service no longer has' }),
    'retry-unknown': Flags.boolean({
      summary: 'Send creates with an unknown outcome again (check first that the users do not exist)',
    }),
    concurrency: concurrencyFlag(),
    quota: quotaFlag({ summary: 'Maximum request rate: 60/m, 100/h, free (100/h), or pro (1000/h)' }),
    yes: yesFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersApply)
    const names = [args.file, ...(flags.file ?? [])].filter((name) => name !== undefined)
    const [first] = names
    if (first === undefined) {
      throw new Failure('usage', 'No file of users was given', { hint: 'See: chatctl users apply --help' })
    }
    const [{ UserFiles }, { UsersState }, { runApply }, { stateNameFor }, { estimateDuration }] =
      await Promise.all([
        import('../../reconcile/user-files.ts'),
        import('../../reconcile/state/users-state.ts'),
        import('../../reconcile/apply/apply-run.ts'),
        import('../../reconcile/state/state-path.ts'),
        import('../../bulk/send/estimate.ts'),
      ])
    const loaded = {
      openFiles: UserFiles.open,
      openState: UsersState.open,
      runApply,
      estimateDuration,
    }
    await applyFiles(context, loaded, {
      names,
      state: flags.state ?? stateNameFor(first),
      expandEnv: flags['expand-env'],
      refresh: !flags['no-refresh'],
      recreateMissing: flags['recreate-missing'],
      retryUnknown: flags['retry-unknown'],
      passwords: passwordChoice(flags, context.resolvePath),
      concurrency: flags.concurrency ?? defaultConcurrency,
      quota: flags.quota,
      yes: flags.yes,
    })
  }
}

function passwordChoice(
  flags: { results: string | undefined; 'password-command': string | undefined; 'no-password': boolean },
  resolvePath: (name: string) => string,
): PasswordChoice | undefined {
  if (flags.results !== undefined)
    return { results: resolvePath(flags.results), makePassword: generatePassword }
  if (flags['password-command'] !== undefined) return { command: flags['password-command'] }
  return flags['no-password'] ? 'none' : undefined
}
