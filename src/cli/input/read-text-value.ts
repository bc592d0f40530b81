import type { Context } from '../context/context.ts'
import { readStdin, readTextFile, withoutFinalNewline } from './read-input.ts'

/**
 * A text given as a value: itself, `@FILE` for the content of a file, or `-` or `@-` for stdin. `@@TEXT` is a
 * text that begins with an @. A final newline of a file or stdin is removed.
 *
 * @param what is read, for messages about stdin
 */
export async function readTextValue(
  given: string,
  { what, maxBytes }: { what: string; maxBytes: number },
  context: Context,
): Promise<string> {
  if (given === '-' || given === '@-') return withoutFinalNewline(await readStdin(what, context, maxBytes))
  if (given.startsWith('@@')) return given.slice(1)
  if (given.startsWith('@')) return withoutFinalNewline(readTextFile(given.slice(1), context, maxBytes))
  return given
}
