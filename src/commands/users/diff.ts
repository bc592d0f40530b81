import type { Interfaces } from '@oclif/core'
import * as Flags from '@oclif/core/flags'
import type { Input } from '../../bulk/input/input.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { differenceExitCode } from '../../cli/errors/exit-codes.ts'
import { integerFlag, textFlag } from '../../cli/flags/flag-types.ts'
import { markdownOutputFlag } from '../../cli/flags/shared-flags.ts'
import { findSealKey, planFlags, sealKeyForSave } from '../../cli/input/seal-key.ts'
import { Failure } from '../../contract/failure.ts'
import type { SealKey } from '../../system/files/sealed-plan.ts'
import type { UserFiles } from '../../users/user-files.ts'
import { groupDigits } from '../../view/format/quantities.ts'
import { describeRecord } from '../../view/plan-record.ts'
import { type PrintedDifferences, userDifferenceView } from '../../view/user-differences.ts'
import {
  comparisonOf,
  sayWhatIsUnseen,
  stateOf,
  userFileArgument,
  userFileNames,
  userFilesFlags,
  userFilesOptions,
} from './user-files-flags.ts'

type DiffFlags = Interfaces.InferredFlags<typeof UsersDiff.flags>

export default class UsersDiff extends BaseCommand {
  static override summary = 'Show how users differ from the files that describe them'
  static override description =
    'Only the fields in the files are compared. The role and the permissions of a user cannot be read, so they are compared with what chatctl last sent.'
  static override requests = calls('getUser')
  static override view = userDifferenceView
  static override offersMarkdown = true
  static override examples = BaseCommand.toExamples({
    'Show the differences': 'chatctl users diff users.yaml',
    'Check for differences in CI': 'chatctl users diff users.yaml --exit-code -o markdown',
    'Save a plan to apply later': 'chatctl users diff users.yaml --save users.plan',
  })
  static override args = { file: userFileArgument }
  static override flags = {
    ...userFilesFlags(),
    'limit-reads': integerFlag({
      helpValue: 'N',
      min: 1,
      exclusive: ['no-refresh'],
      summary: 'Read only the N least recently read users',
    }),
    save: textFlag({ helpValue: 'FILE', summary: 'Write a plan for users apply' }),
    ...planFlags,
    'exit-code': Flags.boolean({ summary: 'Exit with code 10 if there are differences' }),
    output: markdownOutputFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersDiff)
    const names = userFileNames(args.file, flags.file, this)
    const { UserFiles } = await import('../../users/user-files.ts')
    const files = await UserFiles.open(context, names, userFilesOptions(context, flags))
    const plan = files.findPlan()
    const differences = plan
      ? await this.#readPlan(plan, findSealKey(flags, context), context)
      : await this.#compare(files, names[0] ?? '-', flags, context)
    await context.output.show(userDifferenceView, differences)
    this.#conclude(differences, flags['exit-code'])
  }

  async #readPlan(
    plan: Input,
    key: SealKey | undefined,
    { output, host }: Context,
  ): Promise<PrintedDifferences> {
    const [{ readUsersPlan }, { printedDifferences }] = await Promise.all([
      import('../../users/users-plan-file.ts'),
      import('../../users/apply/users-plan.ts'),
    ])
    const read = readUsersPlan(plan, this.config.version, key)
    output.notice(describeRecord({ ...read.header, now: host.clock.now() }))
    return printedDifferences(read, read.header)
  }

  async #compare(
    files: UserFiles,
    first: string,
    flags: DiffFlags,
    context: Context,
  ): Promise<PrintedDifferences> {
    const [{ stateNameFor }, { withState }, { diffUsers }, { printedDifferences }, { newHeader }] =
      await Promise.all([
        import('../../users/state/users-state.ts'),
        import('../../users/known-users.ts'),
        import('../../users/apply/plan-users.ts'),
        import('../../users/apply/users-plan.ts'),
        import('../../system/files/saved-plan.ts'),
      ])
    const sealKey = sealKeyForSave(flags, context)
    const name = flags.state ?? stateNameFor(first)
    const access = flags['limit-reads'] === undefined ? 'read' : 'write'
    const [path, opening] = stateOf(context, name, access)
    const total = await files.check()
    for (const warning of files.warnings) await context.output.warn(warning)
    const { service } = opening
    const limitReads = flags['limit-reads']
    const { result: plan, serial } = await withState(context, [path, opening], async (state, known) => {
      const options = { ...comparisonOf(flags), source: files, state, known, total, limitReads }
      const compared = await diffUsers(context, options)
      sayWhatIsUnseen(context, { name, exists: state.exists }, !flags['no-refresh'])
      return compared
    })
    if (flags.save !== undefined) {
      const { saveUsersPlan } = await import('../../users/users-plan-file.ts')
      const about = { tool: this.config.version, service, serial, state: name }
      const header = newHeader(about, context.host.clock, flags['valid-for'])
      await saveUsersPlan(context.resolvePath(flags.save), header, plan, sealKey)
      const apply = commandFor(context, 'users', 'apply', flags.save)
      context.output.notice(`The plan is in ${flags.save}. Apply it with: ${apply}`)
    }
    return printedDifferences(plan, { service, state: name })
  }

  /** @throws Failure `incomplete` if users could not be read */
  #conclude({ counts, users }: PrintedDifferences, usesExitCode: boolean): void {
    const { failed, unchanged, change, adopt, missing } = counts
    if (failed > 0) {
      const all = groupDigits(failed + unchanged + change + adopt + missing)
      const words = `${groupDigits(failed)} of ${all} known users could not be compared`
      throw new Failure('incomplete', `${words}, so their differences are unknown`)
    }
    if (usesExitCode && users.length > 0) this.exitCode = differenceExitCode
  }
}
