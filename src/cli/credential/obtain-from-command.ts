import type { TemporaryCredential } from '../../auth/credentials/credential-command.ts'
import { Failure } from '../../contract/failure.ts'
import { ControlStripper } from '../../terminal/strip-controls.ts'
import type { BaseContext } from '../context/base-context.ts'

/** After this time, in ms, the user is told what chatctl waits for. */
const silence = 2_000

/** @throws Failure `unauthorized` if the command fails */
export async function obtainFromCommand(
  { host, output, signal }: BaseContext,
  line: string,
  profile: string,
): Promise<TemporaryCredential> {
  const { runCredentialCommand } = await import('../../auth/credentials/credential-command.ts')
  const { env, cwd, clock, untilEnded } = host
  const messages = new MessageLines((text) => output.notice(text))
  const ended = new AbortController()
  clock.sleep(silence, ended.signal).then(
    () => output.notice('Waiting for the credential command…'),
    () => {},
  )
  try {
    const onMessage = (text: string) => messages.push(text)
    return await runCredentialCommand(line, profile, { env, cwd, clock, signal, untilEnded, onMessage })
  } catch (error) {
    const last = messages.end()
    // With --quiet, only the error is shown.
    if (!(error instanceof Failure) || !output.isQuiet || last === '') throw error
    throw error.reworded(`${error.message}: ${last}`)
  } finally {
    ended.abort()
    messages.end()
  }
}

/** Maximum number of characters that are shown of the messages of a command. */
const maxMessages = 64 * 1024

/** Shows the messages of a command line by line, without control characters. */
class MessageLines {
  readonly #show: (line: string) => void
  readonly #stripper = new ControlStripper()
  #left = maxMessages
  #begun = ''
  #last = ''

  constructor(show: (line: string) => void) {
    this.#show = show
  }

  push(text: string): void {
    const shown = text.slice(0, this.#left)
    this.#left -= shown.length
    const lines = (this.#begun + this.#stripper.push(shown)).split('\n')
    this.#begun = lines.pop() ?? ''
    for (const line of lines) this.#say(line)
  }

  /** @returns the last line */
  end(): string {
    this.#say(this.#begun + this.#stripper.end())
    this.#begun = ''
    return this.#last
  }

  #say(line: string): void {
    if (line.trim() === '') return
    this.#last = line.trim()
    this.#show(line)
  }
}
