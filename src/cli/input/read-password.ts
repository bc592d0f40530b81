import { Failure } from '../../contract/failure.ts'
import { maxSecretBytes } from '../../system/read-named-file.ts'
import type { Context } from '../create-context.ts'
import { readSecretFile, readStdin, withoutFinalNewline } from './read-input.ts'

interface PasswordSource {
  stdin: boolean
  file: string | undefined
  /** Whether a person types it twice, since nobody could look it up. */
  twice?: boolean
  /** The flags that give it where nobody can be asked. */
  instead?: string
}

/**
 * A new password from stdin, a file or a hidden prompt; one final newline is dropped.
 *
 * @throws Failure `input_needed` where nobody can be asked, `refused` when it is empty or was typed
 * in two ways
 */
export async function readPassword(source: PasswordSource, context: Context): Promise<string> {
  const password = await read(source, context)
  if (password === '') throw new Failure('refused', 'The password is empty')
  return password
}

async function read(source: PasswordSource, context: Context): Promise<string> {
  if (source.stdin) return withoutFinalNewline(await readStdin('the password', context, maxSecretBytes))
  if (source.file !== undefined) return withoutFinalNewline(readSecretFile(source.file, context))
  const { twice, instead = '--password-stdin, --password-file or --generate-password' } = source
  const password = await context.prompter.askSecret('Password:', instead)
  if (
    twice &&
    password !== '' &&
    password !== (await context.prompter.askSecret('Password again:', instead))
  ) {
    throw new Failure('refused', 'The two passwords differ')
  }
  return password
}
