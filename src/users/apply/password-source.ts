import { Failure } from '../../contract/failure.ts'
import { type Command, type CommandOptions, runCommand } from '../../system/run-command.ts'
import { readCommand } from '../../system/split-command.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { groupDigits } from '../../view/format/quantities.ts'
import type { KnownUsers } from '../known-users.ts'
import { GeneratedPasswords } from '../results/generated-passwords.ts'
import type { WrittenResult } from '../results/results-file.ts'
import type { UserOutcome } from './user-outcome.ts'
import { isNewUser, type PlannedUser } from './users-plan.ts'

/** Where the passwords of new users come from. */
export type PasswordChoice =
  /** They are generated, and written to a results file. */
  | { results: string; makePassword(): string }
  /** The first line of the output of a command. */
  | { command: string }
  /** New users have no password. */
  | 'none'

/** The environment and the working directory of a password command. */
export type PasswordCommandOptions = Pick<CommandOptions, 'env' | 'cwd' | 'clock' | 'signal'>

/** Maximum duration of one run of a password command, in ms. */
const maxDuration = 60_000

/** The passwords of the users that a run creates. */
export class PasswordSource {
  readonly #choice: PasswordChoice | undefined
  readonly #generated: GeneratedPasswords | undefined
  readonly #options: PasswordCommandOptions
  readonly #command: Command | undefined
  /** The users to create, by email. */
  #created: ReadonlyMap<string, PlannedUser> = new Map()

  /** @throws Failure `usage` for an invalid choice; else as `GeneratedPasswords` */
  constructor(choice: PasswordChoice | undefined, options: PasswordCommandOptions) {
    this.#choice = choice
    this.#options = options
    if (typeof choice !== 'object') return
    if ('command' in choice) this.#command = readCommand(choice.command, 'password command')
    else this.#generated = new GeneratedPasswords(choice.results, choice.makePassword)
  }

  /** @throws Failure `usage` if there are users to create, and no password was chosen */
  demand(planned: readonly PlannedUser[]): void {
    this.#created = new Map(planned.filter(isNewUser).map((user) => [user.difference.email, user]))
    const { size } = this.#created
    if (size === 0 || this.#choice !== undefined) return
    const words =
      size === 1 ? 'The new user needs a password' : `The ${groupDigits(size)} new users need passwords`
    throw new Failure('usage', `${words}. Nothing was sent`, {
      hint: 'Generate passwords with --results FILE, get each from a command with --password-command COMMAND, or create users without one with --no-password.',
    })
  }

  /** @returns as `GeneratedPasswords.open`; the file is locked until `finish` */
  open(known: Pick<KnownUsers, 'find'>): string | undefined {
    return this.#generated?.open({
      emails: [...this.#created.keys()],
      mayHaveSent: (email) => known.find(email)?.creation === 'unknown',
      idOfOther: (email) => known.find(email)?.id,
    })
  }

  /** @throws Failure `incomplete`, which ends the run */
  async of(email: string): Promise<string | undefined> {
    if (this.#command) return runPasswordCommand(this.#command, email, this.#options)
    const { line = '' } = this.#created.get(email)?.difference ?? {}
    return this.#generated?.passwordOf({ email, line })
  }

  settle(user: PlannedUser, outcome: UserOutcome): void {
    const isTaken = outcome.status === 'failed' && outcome.failure?.status === 409
    if (this.#created.has(outcome.email)) this.#generated?.settle(resultOf(user, outcome), isTaken)
  }

  /** Writes the outcomes of the users to create to the results file. */
  async finish(outcomes: ReadonlyMap<PlannedUser, UserOutcome>): Promise<void> {
    const rows = Array.from(this.#created.values(), (user) => resultOf(user, outcomes.get(user)))
    await this.#generated?.finish(rows)
  }
}

function resultOf({ difference }: PlannedUser, outcome: UserOutcome | undefined): WrittenResult {
  const { email, line = '' } = difference
  const { status = 'pending', isCreated, failure } = outcome ?? {}
  // The ID of a missing user is not that of the new one.
  const id = (outcome?.id !== difference.id && outcome?.id) || ''
  const written = { nameless: 'unknown', unknown: 'unknown', failed: 'failed' } as const
  const other = status in written ? written[status as keyof typeof written] : 'skipped'
  const error = failure?.message ?? (outcome ? '' : 'not sent yet')
  return { line, email, id, status: isCreated && id !== '' ? 'created' : other, error }
}

/**
 * Runs a command once, without a shell, and returns the first line of its output. The command receives the email of
 * the user in CHATCTL_EMAIL.
 * @throws Failure `incomplete` if the command fails or its first line is empty; the reason of the signal
 */
export async function runPasswordCommand(
  command: Command,
  email: string,
  { env, ...options }: PasswordCommandOptions,
): Promise<string> {
  const { cwd, clock, signal } = options
  const environment = { ...env, CHATCTL_EMAIL: email }
  const result = await runCommand(command, { cwd, clock, signal, env: environment, maxDuration })
  const [password = ''] = 'output' in result ? result.output.toString('utf8').split(/\r?\n/, 1) : []
  if (password !== '') return password
  const reason = 'problem' in result ? result.problem : 'wrote no password in its first line'
  throw new Failure('incomplete', `The password command for ${visibleJson(email)} ${reason}`)
}
