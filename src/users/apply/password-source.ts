import { statSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { type Command, type CommandOptions, runCommand } from '../../system/run-command.ts'
import { readCommand } from '../../system/split-command.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { groupDigits } from '../../view/format/count.ts'
import { readResultRows } from '../results/password-reader.ts'
import { lockResults, ResultsWriter, type WrittenResult } from '../results/results-file.ts'
import type { RowStatus } from '../results/row-result.ts'
import type { PlannedUser } from './planned-user.ts'
import type { OutcomeStatus, UserOutcome } from './user-outcome.ts'

/** Where the passwords of new users come from. */
export type PasswordChoice =
  /** Generated, and written to a results file. */
  | { results: string; makePassword(): string }
  /** The first line of the output of a command. */
  | { command: string }
  /** New users have no password. */
  | 'none'

/** The passwords of the users that a run creates. */
export interface PasswordSource {
  /** Called with all users to create before the first request that changes something. */
  prepare(created: readonly PlannedUser[]): Promise<void>
  /** @throws Failure `incomplete`, which ends the run */
  of(email: string): Promise<string | undefined>
  settle(outcome: UserOutcome): void
  /** Called at the end of the run. */
  finish(): Promise<void>
}

/** @throws Failure `usage` for an invalid choice; `storage` */
export function openPasswordSource(
  choice: PasswordChoice | undefined,
  options: PasswordCommandOptions,
): PasswordSource {
  if (choice === undefined) return { ...none, prepare: async (created) => demandNone(created) }
  if (choice === 'none') return none
  if ('results' in choice) return new NewPasswords(choice.results, choice.makePassword)
  const command = readPasswordCommand(choice.command)
  return { ...none, of: (email) => runPasswordCommand(command, email, options) }
}

const none: PasswordSource = {
  prepare: async () => {},
  of: async () => undefined,
  settle: () => {},
  finish: async () => {},
}

/** @throws Failure `usage` if there are users to create */
function demandNone({ length }: readonly PlannedUser[]): void {
  if (length === 0) return
  const words =
    length === 1 ? 'The new user needs a password' : `The ${groupDigits(length)} new users need passwords`
  throw new Failure('usage', `${words}. Nothing was sent`, {
    advice: [{ code: 'choose_passwords' }],
  })
}

/** Maximum duration of one run, in ms. */
const maxDuration = 60_000

/** The environment and the working directory of the run. */
export type PasswordCommandOptions = Pick<CommandOptions, 'env' | 'cwd' | 'clock' | 'signal'>

/** @throws Failure `usage` unless the command can be run without a shell */
export function readPasswordCommand(line: string): Command {
  return readCommand(line, 'password command')
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
  const result = await runCommand(command, { ...options, env: { ...env, CHATCTL_EMAIL: email }, maxDuration })
  const [password = ''] = 'output' in result ? result.output.toString('utf8').split(/\r?\n/, 1) : []
  if (password !== '') return password
  const reason = 'problem' in result ? result.problem : 'wrote no password in its first line'
  throw new Failure('incomplete', `The password command for ${visibleJson(email)} ${reason}`)
}

const columns: readonly string[] = ['email', 'id', 'status', 'error', 'password']

/**
 * The generated passwords of new users, in a results file with the columns of `users import --results`. The file
 * keeps the rows of earlier runs, so no password is lost, and a user whose create is sent again gets the same
 * password.
 */
class NewPasswords implements PasswordSource {
  readonly #path: string
  readonly #makePassword: () => string
  /** The rows of the users to create, by email without case. */
  readonly #rows = new Map<string, WrittenResult & { password: string }>()
  #unlock: (() => void) | undefined

  /** @throws Failure `usage` for another file extension; `storage` if the file is known to be not writable */
  constructor(path: string, makePassword: () => string) {
    this.#path = path
    this.#makePassword = makePassword
    new ResultsWriter(path, true)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found && !found.isFile()) {
      throw new Failure('usage', `Cannot write the generated passwords to ${path}: not a regular file`)
    }
  }

  /**
   * Writes a password for each user to create. The file is on disk when the promise resolves, and locked until
   * `finish`.
   *
   * @throws Failure `refused` if the file exists and is not a results file; `conflict` if another process is
   *   writing it; `storage`
   */
  async prepare(planned: readonly PlannedUser[]): Promise<void> {
    if (planned.length === 0) return
    const unlock = lockResults(this.#path)
    try {
      await this.#prepare(planned)
      this.#unlock = unlock
    } catch (error) {
      unlock()
      throw error
    }
  }

  async #prepare(planned: readonly PlannedUser[]): Promise<void> {
    for (const { difference } of planned) {
      const { email, line = '' } = difference
      const row = { line, email, id: '', status: 'skipped' as const, error: 'not sent yet', password: '' }
      this.#rows.set(email.toLowerCase(), row)
    }
    for (const { email, password } of await this.#readOld()) {
      const row = this.#rows.get(email.toLowerCase())
      if (row && password) row.password = password
    }
    for (const row of this.#rows.values()) row.password ||= this.#makePassword()
    await this.#write()
  }

  async of(email: string): Promise<string | undefined> {
    return this.#rows.get(email.toLowerCase())?.password
  }

  settle({ email, id = '', status, isCreated, failure }: UserOutcome): void {
    const row = this.#rows.get(email.toLowerCase())
    if (!row) return
    const isKnown = isCreated && id !== ''
    Object.assign(row, { id, status: isKnown ? 'created' : statusOf(status), error: failure?.message ?? '' })
  }

  /** Writes the outcomes of the users, if passwords were prepared. */
  async finish(): Promise<void> {
    try {
      if (this.#unlock) await this.#write()
    } finally {
      this.#unlock?.()
    }
  }

  /** Replaces the file: the rows of other users unchanged, and then those of the users to create. */
  async #write(): Promise<void> {
    const others = (await this.#readOld()).filter(({ email }) => !this.#rows.has(email.toLowerCase()))
    const writer = new ResultsWriter(this.#path, true)
    try {
      await writer.write([...others, ...this.#rows.values()])
      await writer.finish()
    } catch (error) {
      await writer.discard()
      throw error
    }
  }

  async #readOld(): Promise<WrittenResult[]> {
    const path = this.#path
    const rows: WrittenResult[] = []
    if (!statSync(path, { throwIfNoEntry: false })) return rows
    const text = (value: unknown) => (typeof value === 'string' ? value : '')
    try {
      for await (const { line, ...row } of readResultRows(path)) {
        const { email, id, status, error, password } = row
        const isOwn = email !== undefined && status !== undefined
        if (!isOwn || Object.keys(row).some((name) => !columns.includes(name))) throw notResults(path)
        rows.push({
          line: typeof line === 'number' ? line : text(line),
          email: text(email),
          id: text(id),
          status: text(status) as RowStatus,
          error: text(error),
          password: text(password),
        })
      }
      return rows
    } catch (cause) {
      if (cause instanceof Failure) throw cause
      throw new Failure('storage', `Cannot read ${path}: ${describeSystemError(cause)}`, { cause })
    }
  }
}

function notResults(path: string): Failure {
  return new Failure('refused', `${path} exists and is not a results file, so it is not overwritten`, {
    advice: [{ code: 'other_results_file' }],
  })
}

/** The status of a user who was not created, or whose ID is not known. */
function statusOf(status: OutcomeStatus): RowStatus {
  switch (status) {
    case 'unknown':
    case 'nameless':
      return 'unknown'
    case 'failed':
      return 'failed'
    default:
      return 'skipped'
  }
}
