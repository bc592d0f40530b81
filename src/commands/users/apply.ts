import type { Interfaces } from '@oclif/core'
import * as Flags from '@oclif/core/flags'
import type { Input } from '../../bulk/input/input.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { generatePassword } from '../../cli/input/read-password.ts'
import { findSealKey, type KeyFlags, sealKeyFlag } from '../../cli/input/seal-key.ts'
import type { PasswordChoice } from '../../users/apply/password-source.ts'
import type { UsersPlanFile } from '../../users/users-plan-file.ts'
import { userDifferenceView } from '../../view/user-differences.ts'
import { appliedUsersView } from '../../view/users.ts'
import { finishApply } from './finish-apply.ts'
import {
  comparisonOf,
  sayWhatIsUnseen,
  stateOf,
  userFileArgument,
  userFileNames,
  userFilesFlags,
  userFilesOptions,
  withoutIdsFlag,
} from './user-files-flags.ts'

type ApplyFlags = Interfaces.InferredFlags<typeof UsersApply.flags>

export default class UsersApply extends BaseCommand {
  static override summary = 'Create and change users so that they match files'
  static override description =
    'Shows the differences of users diff, asks for confirmation, sends the fields that differ, and reads them back. A user who was changed in between is refused (exit code 7, or 9 if other users failed). After an interruption, run the same command again. A create whose outcome is unknown is not sent again.'
  static override requests = {
    ...calls('getUser', 'createUser', 'updateUser', 'assignPermissions'),
    note: 'then reads the users back.',
  }
  static override view = appliedUsersView({ created: 0, changed: 0, adopted: 0, sent: 0, left: 0 }, true)
  static override otherViews = { '--dry-run': userDifferenceView }
  static override examples = BaseCommand.toExamples({
    'Apply a file, and generate the passwords of new users':
      'chatctl users apply users.yaml --results new-users.csv',
    'Apply a saved plan': 'chatctl users apply users.plan --results new-users.csv --yes',
  })
  static override args = { file: userFileArgument }
  static override flags = {
    ...userFilesFlags(),
    results: textFlag({
      helpValue: 'FILE',
      exclusive: ['password-command', 'no-password'],
      summary: 'Generate passwords into a .csv or .jsonl file',
    }),
    'password-command': textFlag({
      helpValue: 'CMD',
      exclusive: ['no-password'],
      summary: 'Get the password of each new user from a command',
    }),
    'no-password': Flags.boolean({ summary: 'Create new users without a password' }),
    'without-ids': withoutIdsFlag,
    'recreate-missing': Flags.boolean({ summary: 'Create users again who no longer exist' }),
    'retry-unknown': Flags.boolean({
      summary: 'Send creates with an unknown outcome again',
    }),
    ...sealKeyFlag,
    yes: yesFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersApply)
    const names = userFileNames(args.file, flags.file, this)
    context.demandNamedService()
    const [{ UserFiles }, { stateNameFor }, { withState }, { assertUnapplied }] = await Promise.all([
      import('../../users/user-files.ts'),
      import('../../users/state/users-state.ts'),
      import('../../users/known-users.ts'),
      import('../../users/users-plan-file.ts'),
    ])
    const files = await UserFiles.open(context, names, userFilesOptions(context, flags))
    const input = files.findPlan()
    const more = (['recreate-missing', 'retry-unknown'] as const).find((name) => flags[name])
    if (input) await context.approval.verify(input, 'users', more && `--${more}`)
    else context.approval.demand('users')
    const plan = input && (await this.#readPlan(input, flags, context))
    const total = plan ? plan.users.length : await files.check()
    for (const warning of files.warnings) await context.output.warn(warning)
    const name = flags.state ?? plan?.header.state ?? stateNameFor(names[0] ?? '-')
    const [path, opening] = stateOf(context, name, context.dryRun ? 'read' : 'write', flags.results)
    const { result: applied } = await withState(context, [path, opening], async (state, known) => {
      if (input && plan) assertUnapplied(context, input.name, plan.header, state)
      else sayWhatIsUnseen(context, { name, exists: state.exists }, !flags['no-refresh'])
      const { compareAndApply } = await import('../../users/apply/apply-run.ts')
      return compareAndApply(context, {
        ...comparisonOf(flags),
        source: plan ? { plan } : files,
        ...{ total, state, known, yes: flags.yes },
        withoutIds: flags['without-ids'],
        recreateMissing: flags['recreate-missing'],
        retryUnknown: flags['retry-unknown'],
        passwords: passwordChoice(flags, context.resolvePath),
      })
    })
    const refresh = !flags['no-refresh']
    const about = { service: opening.service, state: name, refresh, isPlan: plan !== undefined }
    await finishApply(context, { ...applied, ...about, generatesPasswords: flags.results !== undefined })
  }

  /** @throws Failure `conflict` if the plan is for another service */
  async #readPlan(input: Input, flags: KeyFlags, context: Context): Promise<UsersPlanFile> {
    const { readUsersPlan, usersPlan } = await import('../../users/users-plan-file.ts')
    const { misfitOf } = await import('../../system/files/saved-plan.ts')
    const plan = readUsersPlan(input, this.config.version, findSealKey(flags, context))
    const [service, now] = [context.service, context.host.clock.now()]
    const about = { service, toolVersion: this.config.version, now }
    const misfit = misfitOf(input.name, plan.header, about, usersPlan)
    if (misfit) throw misfit
    return plan
  }
}

function passwordChoice(
  flags: ApplyFlags,
  resolvePath: (name: string) => string,
): PasswordChoice | undefined {
  if (flags.results !== undefined)
    return { results: resolvePath(flags.results), makePassword: generatePassword }
  if (flags['password-command'] !== undefined) return { command: flags['password-command'] }
  return flags['no-password'] ? 'none' : undefined
}
