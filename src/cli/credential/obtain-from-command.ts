import type { TemporaryCredential } from '../../auth/credentials/credential-command.ts'
import { Failure } from '../../contract/failure.ts'
import { ControlStripper } from '../../terminal/strip-controls.ts'
import type { BaseContext } from '../context/base-context.ts'

/** After this time, in ms, the user is told what chatctl waits for. */
const silence = 2_000

/** Maximum number of characters that are shown of one message of a command. */
const maxMessage = 4096

/**
 * Shows the messages of the command line by line, without control characters.
 * @throws Failure `unauthorized` if the command fails
 */
export async function obtainFromCommand(
  { host, output, signal }: BaseContext,
  line: string,
  profile: string,
): Promise<TemporaryCredential> {
  const { runCredentialCommand } = await import('../../auth/credentials/credential-command.ts')
  const { env, cwd, clock, untilEnded } = host
  let begun = ''
  let last = ''
  const show = (message: string): void => {
    const stripper = new ControlStripper()
    const shown = (stripper.push(message.slice(0, maxMessage)) + stripper.end()).trim()
    if (shown === '') return
    last = shown
    output.notice(shown)
  }
  const onMessage = (text: string): void => {
    const lines = (begun + text).split('\n')
    begun = (lines.pop() ?? '').slice(0, maxMessage)
    for (const one of lines) show(one)
  }
  const ended = new AbortController()
  clock.sleep(silence, ended.signal).then(
    () => output.notice('Waiting for the credential command…'),
    () => {},
  )
  try {
    return await runCredentialCommand(line, profile, { env, cwd, clock, signal, untilEnded, onMessage })
  } catch (error) {
    show(begun)
    begun = ''
    // With --quiet, only the error is shown.
    if (!(error instanceof Failure) || !output.isQuiet || last === '') throw error
    throw error.reworded(`${error.message}: ${last}`)
  } finally {
    ended.abort()
    show(begun)
  }
}
