import { Failure } from '../../contract/failure.ts'
import { type Command, type CommandOptions, runCommand } from '../../system/run-command.ts'
import { readCommand } from '../../system/split-command.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'

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
