import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'
import { generatePassword } from '../../cli/input/read-password.ts'
import type { AppliedUsers } from '../../users/apply/apply-run.ts'
import type { PasswordChoice } from '../../users/apply/password-source.ts'
import type { Input } from '../../users/input/input.ts'
import type { UsersState } from '../../users/state/users-state.ts'
import type { UsersPlanFile, UsersPlanHeader } from '../../users/users-plan-file.ts'
import { appliedUsersView } from '../../view/users.ts'
import { planServiceOf } from '../settings/settings-change.ts'
import { ApplyProgress, applyEvents, comparing, sayWhatIsUnseen } from './apply-events.ts'
import { finishApply } from './finish-apply.ts'
import { stateOf } from './state-options.ts'
import { userFileArgument, userFileNames, userFilesFlags, userFilesOptions } from './user-files-flags.ts'

interface Applying {
  context: Context
  state: UsersState
}

/** Maximum number of requests that a dry run shows. */
const shownRequests = 3

export default class UsersApply extends BaseCommand {
  static override summary = 'Create and change users so that they match files'
  static override description =
    'Shows the differences of users diff, asks for confirmation, sends the fields that differ, and reads them back. A user who was changed in between is refused (exit code 7, or 9 if other users failed). After an interruption, run the same command again. A create whose outcome is unknown is not sent again.'
  static override requests = {
    ...calls('getUser', 'createUser', 'updateUser', 'assignPermissions'),
    note: 'then reads the users back.',
  }
  static override view = appliedUsersView({ created: 0, changed: 0, adopted: 0, sent: 0, left: 0 }, true)
  static override examples = [
    {
      description: 'Apply a file, and generate the passwords of new users',
      command: 'chatctl users apply users.yaml --results new-users.csv',
    },
    {
      description: 'Apply a saved plan',
      command: 'chatctl users apply users.plan --results new-users.csv --yes',
    },
    {
      description: 'Apply two files in CI',
      command: 'chatctl users apply users.yaml --file admins.csv --results new-users.csv --yes',
    },
  ]
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
    'recreate-missing': Flags.boolean({ summary: 'Create users again who no longer exist' }),
    'retry-unknown': Flags.boolean({
      summary: 'Send creates with an unknown outcome again',
    }),
    yes: yesFlag,
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersApply)
    const names = userFileNames(args.file, flags.file)
    context.demandNamedService()
    const [
      { UserFiles },
      { stateNameFor, UsersState },
      { runApply },
      { printedDifferences },
      { plannedRequests },
    ] = await Promise.all([
      import('../../users/user-files.ts'),
      import('../../users/state/users-state.ts'),
      import('../../users/apply/apply-run.ts'),
      import('../../users/apply/users-plan.ts'),
      import('../../users/apply/planned-user.ts'),
    ])
    const { estimateDuration } = await import('../../users/send/estimate.ts')
    const files = await UserFiles.open(names, userFilesOptions(context, flags))
    try {
      const input = await files.findPlan()
      const plan = input && (await this.#readPlan(input, context))
      const users = plan ? plan.users.length : await files.check()
      for (const warning of files.warnings) await context.output.warn(warning)
      const name = flags.state ?? plan?.header.state ?? stateNameFor(names[0] ?? '-')
      const [path, opening] = stateOf(context, name, context.dryRun ? 'read' : 'write', flags.results)
      const about = { service: opening.service, state: name, printed: printedDifferences }
      const state = await UsersState.open(path, opening)
      const progress = new ApplyProgress(context, estimateDuration)
      let applied: AppliedUsers
      try {
        if (input && plan) await this.#checkState(plan.header, input.name, { context, state })
        if (!plan) {
          sayWhatIsUnseen(context, { name, exists: state.exists }, !flags['no-refresh'])
          progress.begin(users)
        }
        applied = await runApply({
          ...applyEvents(context, progress, { ...about, yes: flags.yes }),
          ...comparing(context, progress, flags),
          state,
          source: plan ? { plan } : files,
          recreateMissing: flags['recreate-missing'],
          retryUnknown: flags['retry-unknown'],
          isDryRun: context.dryRun,
          passwords: passwordChoice(flags, context.resolvePath),
          env: context.env,
          cwd: context.host.cwd,
          onFirstChange: async () => {
            if (plan) await this.#markApplied(plan.header.id, { context, state })
          },
          onBegin: ({ planned }) => {
            progress.begin(planned.length)
            context.signal.addEventListener('abort', () => sayWhyItWaits(context), { once: true })
          },
        })
      } finally {
        progress.end()
        await state.close()
      }
      await finishApply(context, {
        ...applied,
        ...about,
        refresh: !flags['no-refresh'],
        isPlan: plan !== undefined,
        requestsOf: (planned) =>
          plannedRequests(planned, { generatesPasswords: flags.results !== undefined, limit: shownRequests }),
      })
    } finally {
      files.close()
    }
  }

  /** @throws Failure `conflict` if the plan is for another service */
  async #readPlan(input: Input, context: Context): Promise<UsersPlanFile> {
    const { readUsersPlan, assertPlanFits } = await import('../../users/users-plan-file.ts')
    const plan = await readUsersPlan(input, this.config.version)
    const service = planServiceOf(context)
    assertPlanFits(input.name, plan.header, { service, toolVersion: this.config.version })
    return plan
  }

  /** @throws Failure `conflict` if the plan was applied before, or the state file is earlier than the plan */
  async #checkState(header: UsersPlanHeader, name: string, { context, state }: Applying) {
    const [{ assertUnapplied }, { isApplied }] = await Promise.all([
      import('../../users/users-plan-file.ts'),
      import('../../system/files/saved-plan.ts'),
    ])
    assertUnapplied(name, header, state, isApplied(context.directories, header.id))
  }

  /** Also beside the state file, which a user with another home directory may share. */
  async #markApplied(id: string, { context, state }: Applying): Promise<void> {
    const { markApplied } = await import('../../system/files/saved-plan.ts')
    markApplied(context.directories, id)
    state.noteApplied(id)
  }
}

function sayWhyItWaits({ output }: Context): void {
  output.notice('Waiting for the responses to the requests already sent. Press Ctrl-C again to stop at once.')
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
