import { Failure } from '../../failure.ts'
import type { Context } from '../create-context.ts'
import { readStdin, readTextFile, withoutFinalNewline } from './read-input.ts'

/**
 * A new password from stdin, a file or a hidden prompt; one final newline is dropped.
 *
 * @throws Failure `input_needed` where nobody can be asked, `refused` when it is empty
 */
export async function readPassword(
  source: { stdin: boolean; file: string | undefined },
  context: Context,
): Promise<string> {
  const password = await read(source, context)
  if (password === '') throw new Failure('refused', 'The password is empty')
  return password
}

async function read(source: { stdin: boolean; file: string | undefined }, context: Context): Promise<string> {
  if (source.stdin)
    return withoutFinalNewline(await readStdin('the password', context.output, context.signal))
  if (source.file !== undefined) return withoutFinalNewline(readTextFile(source.file))
  return context.prompter.askSecret('Password:', '--password-stdin, --password-file or --generate-password')
}
