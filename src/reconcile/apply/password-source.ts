import { Failure } from '../../contract/failure.ts'
import { type Command, type CommandOptions, runCommand } from '../../system/run-command.ts'
import { readCommand } from '../../system/split-command.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { groupDigits } from '../../view/count.ts'
import { NewPasswords } from './new-passwords.ts'
import type { PlannedUser } from './planned-user.ts'
import type { UserOutcome } from './user-outcome.ts'

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
  if ('results' in choice) {
    const passwords = new NewPasswords(choice.results, choice.makePassword)
    return {
      prepare: (created) => (created.length > 0 ? passwords.prepare(created) : Promise.resolve()),
      of: async (email) => passwords.of(email),
      settle: (outcome) => passwords.settle(outcome),
      finish: () => passwords.finish(),
    }
  }
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
