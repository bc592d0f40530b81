import type { Context } from '../../cli/context/context.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { readTextValue } from '../../cli/input/read-input.ts'
import { Failure } from '../../contract/failure.ts'
import { maxTextBytes } from '../../system/files/read-named-file.ts'

export const systemFlag = textFlag({
  char: 's',
  helpValue: 'TEXT',
  summary: 'System message, @FILE, or - for stdin',
})

/**
 * The system message that `--system` gives. Undefined without the flag.
 *
 * @throws Failure `refused` if a file or stdin cannot be read or is blank
 */
export async function readSystem(given: string | undefined, context: Context): Promise<string | undefined> {
  if (given === undefined) return undefined
  const text = await readTextValue(given, { what: 'the system message', maxBytes: maxTextBytes }, context)
  if (text.trim() !== '') return text
  const isStdin = given === '-' || given === '@-'
  throw new Failure('refused', `The system message in ${isStdin ? 'stdin' : given.slice(1)} is empty`)
}
