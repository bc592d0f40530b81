import { Failure } from '../../contract/failure.ts'
import { DocumentFile } from '../../system/files/document-file.ts'
import { type Command, type CommandOptions, runCommand } from '../../system/run-command.ts'
import { readCommand } from '../../system/split-command.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { groupDigits } from '../../view/format/quantities.ts'
import {
  demandRegularResults,
  formatOfResults,
  lockResults,
  type RowStatus,
  readPasswords,
  readResults,
  type WrittenResult,
  writeResults,
} from '../results/results-file.ts'
import type { UserOutcome } from './user-outcome.ts'
import type { PlannedUser } from './users-plan.ts'

/** Generated passwords, which are written to a results file. */
type GeneratedChoice = { results: string; makePassword(): string }

/** Where the passwords of new users come from. */
export type PasswordChoice =
  | GeneratedChoice
  /** The first line of the output of a command. */
  | { command: string }
  /** New users have no password. */
  | 'none'

/** The environment and the working directory of a password command. */
export type PasswordCommandOptions = Pick<CommandOptions, 'env' | 'cwd' | 'clock' | 'signal'>

/** Maximum duration of one run of a password command, in ms. */
const maxDuration = 60_000

/**
 * The passwords of the users that a run creates. Generated ones are in a results file with the columns of
 * `users import --results`. The file keeps the rows of earlier runs, so no password is lost, and a user whose create
 * is sent again gets the same password.
 */
export class PasswordSource {
  readonly #choice: PasswordChoice | undefined
  /** Undefined if no passwords are generated. */
  readonly #generated: GeneratedChoice | undefined
  readonly #options: PasswordCommandOptions
  readonly #command: Command | undefined
  /** The rows of the users to create, by email without case. */
  readonly #rows = new Map<string, WrittenResult>()
  #unlock: (() => void) | undefined

  /** @throws Failure `usage` for an invalid choice; `storage` if the file is known to be not writable */
  constructor(choice: PasswordChoice | undefined, options: PasswordCommandOptions) {
    this.#choice = choice
    this.#options = options
    if (typeof choice !== 'object') return
    if ('command' in choice) {
      this.#command = readCommand(choice.command, 'password command')
      return
    }
    this.#generated = choice
    formatOfResults(choice.results)
    new DocumentFile(choice.results)
    demandRegularResults(choice.results)
  }

  /** @throws Failure `usage` if there are users to create, and no password was chosen */
  demand({ length }: readonly PlannedUser[]): void {
    if (length === 0 || this.#choice !== undefined) return
    const words =
      length === 1 ? 'The new user needs a password' : `The ${groupDigits(length)} new users need passwords`
    throw new Failure('usage', `${words}. Nothing was sent`, { advice: [{ code: 'choose_passwords' }] })
  }

  /**
   * Writes a password for each user to create. The file is on disk when the promise resolves, and locked until
   * `finish`.
   *
   * @throws Failure `refused` if the file exists and is not a results file; `conflict` if another process is
   *   writing it; `storage`
   */
  async prepare(created: readonly PlannedUser[]): Promise<void> {
    if (!this.#generated || created.length === 0) return
    const { results, makePassword } = this.#generated
    this.#unlock = lockResults(results)
    try {
      const kept = readPasswords(results)
      for (const { difference } of created) {
        const { email, line = '' } = difference
        const password = kept.get(email.toLowerCase()) ?? makePassword()
        const row = { line, email, id: '', status: 'skipped' as const, error: 'not sent yet', password }
        this.#rows.set(email.toLowerCase(), row)
      }
      await this.#write(results)
    } catch (error) {
      this.#unlock()
      throw error
    }
  }

  /** @throws Failure `incomplete`, which ends the run */
  async of(email: string): Promise<string | undefined> {
    if (this.#command) return runPasswordCommand(this.#command, email, this.#options)
    return this.#rows.get(email.toLowerCase())?.password
  }

  settle({ email, id = '', status, isCreated, failure }: UserOutcome): void {
    const row = this.#rows.get(email.toLowerCase())
    const written = { nameless: 'unknown', unknown: 'unknown', failed: 'failed' } as const
    const known: RowStatus | undefined = isCreated && id !== '' ? 'created' : undefined
    const other = status in written ? written[status as keyof typeof written] : 'skipped'
    if (row) Object.assign(row, { id, status: known ?? other, error: failure?.message ?? '' })
  }

  /** Writes the outcomes of the users, if passwords were prepared. */
  async finish(): Promise<void> {
    if (!this.#unlock || !this.#generated) return
    try {
      await this.#write(this.#generated.results)
    } finally {
      this.#unlock()
    }
  }

  /** Replaces the file: the rows of other users unchanged, and then those of the users to create. */
  async #write(path: string): Promise<void> {
    const others = readResults(path).filter(({ email }) => !this.#rows.has(email.toLowerCase()))
    await writeResults(path, [...others, ...this.#rows.values()], true)
  }
}

/**
 * Runs a command once, without a shell, and returns the first line of its output. The command receives the email of
 * the user in CHATCTL_EMAIL.
 *
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
