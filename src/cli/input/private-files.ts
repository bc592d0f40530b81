import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { isoNow } from '../../system/clock.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import type { Context } from '../context/context.ts'
import { Interruption } from '../context/interruption.ts'
import { hintOf, sentences } from '../errors/hints.ts'

/** What is kept for a person until they have used it. */
type Kept = 'edits' | 'passwords'

/**
 * Writes a new file for its owner only and flushes it to disk: in the state directory, or in a new
 * temporary directory where that cannot be written.
 * @param extension of the file name, which begins with `name` and the time
 * @returns its path
 * @throws the system's error where neither can be written
 */
export function savePrivateFile(
  { directories, host }: Pick<Context, 'directories' | 'host'>,
  kept: Kept,
  name: string,
  extension: string,
  text: string,
): string {
  const time = isoNow(host.clock).replaceAll(/[:.]/g, '-')
  const places = [
    () => join(directories.state, kept),
    () => mkdtempSync(join(directories.temporary, 'chatctl-')),
  ]
  let trouble: unknown
  for (const place of places) {
    try {
      const path = join(place(), `${name}-${time}-${process.pid}.${extension}`)
      makePrivateDirectory(dirname(path))
      writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true })
      return path
    } catch (error) {
      trouble = error
    }
  }
  throw trouble
}

/**
 * A generated password in a file, from before it is sent until it was shown or refused: without it the
 * user of a request whose response is lost could not sign in.
 */
export class PasswordFile {
  readonly path: string

  /**
   * @param use.service the base URL; undefined for the embedded service
   * @throws Failure `storage` where it cannot be written
   */
  constructor(
    context: Context,
    password: string,
    { email, service = 'embedded' }: Record<'email' | 'service', string | undefined>,
  ) {
    const time = isoNow(context.host.clock)
    const text = `${JSON.stringify({ service, email, password, time }, null, 2)}\n`
    try {
      this.path = savePrivateFile(context, 'passwords', 'user', 'json', text)
    } catch (cause) {
      const hint =
        'Set XDG_STATE_HOME or TMPDIR to a directory that you can write to, or pass --password-stdin.'
      throw systemFailure('Cannot write the generated password to a file', cause, hint)
    }
  }

  /** Once the password was shown, or is of no use. Its directory goes with it where that is empty. */
  remove(): void {
    rmSync(this.path, { force: true })
    try {
      rmdirSync(dirname(this.path))
    } catch {}
  }

  /** @returns the same error, with where the password is */
  nameIn(error: unknown): unknown {
    const words = `The generated password is in ${this.path}`
    if (error instanceof Interruption) return new Interruption(error.signal, words)
    if (error instanceof Failure) {
      return error.reworded(error.message, {
        hint: sentences([...[hintOf(error)].filter((part) => part !== undefined), words]),
      })
    }
    return error
  }

  /** After the request failed: removes the file where no user was created. @returns as `nameIn` */
  settle(error: unknown, { sentChanges }: Context): unknown {
    const isRefused = error instanceof Failure && !error.isOutcomeUnknown
    const isUnsent = error instanceof Interruption && !sentChanges.isUnknown
    if (!isRefused && !isUnsent) return this.nameIn(error)
    this.remove()
    return error
  }
}
