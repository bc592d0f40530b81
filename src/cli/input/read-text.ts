import { Failure } from '../../contract/failure.ts'
import type { Context } from '../context/context.ts'
import { hasPipedStdin, readStdin, withoutFinalNewline } from './read-input.ts'

/**
 * A text from the argument, from stdin, or from both with a blank line between. A pipe or a file is always
 * read; `-` also reads a terminal. Empty if there is neither.
 */
export async function readText(argument: string | undefined, context: Context): Promise<string> {
  const wantsStdin = argument === '-' || hasPipedStdin(context)
  const piped = wantsStdin ? await readStdin('the text', context) : ''
  const parts = [argument === '-' ? '' : (argument ?? ''), withoutFinalNewline(piped)]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** @throws Failure `usage` for an empty text */
export function demandText(text: string, name: string): string {
  if (text.trim() !== '') return text
  throw new Failure('usage', `${name} is missing or empty`, {
    hint: 'Give it as an argument or on stdin.',
  })
}
