import { Failure } from '../contract/failure.ts'
import { type CommandOptions, runCommand } from '../system/run-command.ts'
import { readCommand } from '../system/split-command.ts'
import { readCommandOutput } from './read-command-output.ts'
import type { TemporaryCredential } from './temporary-credential.ts'

/** Maximum duration of one run, in ms. A user may have to unlock a password manager. */
const maxDuration = 30_000

/** Set for the command, so that it cannot start itself. */
const marker = 'CHATCTL_CREDENTIAL_COMMAND'

/**
 * Obtains a credential from a command. Its output is never shown or kept.
 *
 * @throws Failure `unauthorized` if the command fails or its output is not a credential, `usage` if it needs a shell;
 *   the reason of the signal
 */
export async function runCredentialCommand(
  line: string,
  profile: string,
  { env, ...options }: Omit<CommandOptions, 'maxDuration'>,
): Promise<TemporaryCredential> {
  const failed = (why: string) =>
    new Failure('unauthorized', `The credential command of profile "${profile}" ${why}`, {
      code: 'credential_command_failed',
      advice: [{ code: 'check_credential_command', line, profile }],
    })
  if (env[marker])
    throw failed('was started by a credential command, which would start itself again and again')
  const command = readCommand(line, 'credential command')
  const result = await runCommand(command, { ...options, env: { ...env, [marker]: profile }, maxDuration })
  if ('problem' in result) throw failed(result.problem)
  try {
    return readCommandOutput(result.output, options.clock.now())
  } catch (error) {
    throw failed((error as Error).message)
  }
}
