import { Failure } from '../../contract/failure.ts'
import type { Context } from '../context.ts'
import { demandText, readText } from '../input/read-text.ts'

/**
 * The message of `chat send`, from the argument, stdin, or both. With a prompt of the library, it may be empty.
 *
 * @throws Failure `usage` for an empty message
 */
export async function readMessage(
  argument: string | undefined,
  flags: { context?: string | undefined; prompt?: string | undefined },
  context: Context,
): Promise<string> {
  const text = await readText(argument, context)
  if (flags.prompt !== undefined) return text
  if (text.trim() !== '' || flags.context === undefined) return demandText(text, 'MESSAGE')
  // In other tools, `-c` continues the last conversation, and the next word is the message.
  throw new Failure('usage', 'MESSAGE is missing or empty', {
    hint: `-c is --context, and took "${flags.context}". Continue the last conversation with: --continue`,
  })
}
