import { Failure } from '../../contract/failure.ts'
import { joinFiles, type MessageParts } from '../../contract/file-block.ts'
import type { Context } from '../context.ts'
import { demandText, readText } from '../input/read-text.ts'
import type { FileChoice } from './file-flags.ts'

/** The command line of a message. */
interface MessageLine {
  /** The command, `chat send`. */
  command: string
  /** The words after it. */
  argv: readonly string[]
  /** The argument with the text. */
  argument: string | undefined
  flags: FileChoice & { context?: string | undefined }
}

/**
 * The message of `chat send`: the files of `--file`, and the text from the argument, stdin, or both.
 *
 * @throws Failure `usage` for an empty text, `refused` for files that cannot be sent
 */
export async function readMessage(line: MessageLine, context: Context): Promise<string> {
  const parts = await readParts(line, context)
  const { context: contextId } = line.flags
  if (parts.text.trim() !== '' || contextId === undefined) return joinParts(parts, 'MESSAGE')
  // In other tools, `-c` continues the last conversation, and the next word is the message.
  throw new Failure('usage', 'MESSAGE is missing or empty', {
    hint: `-c is --context, and took "${contextId}". Continue the last conversation with: --continue`,
  })
}

/**
 * The prompt of `chat complete`, from the same sources.
 *
 * @param mayBeEmpty whether the request has other messages; files need a text in any case
 * @throws Failure as `readMessage`
 */
export async function readPrompt(line: MessageLine, mayBeEmpty: boolean, context: Context): Promise<string> {
  const parts = await readParts(line, context)
  return mayBeEmpty && parts.files.length === 0 ? parts.text : joinParts(parts, 'PROMPT')
}

function joinParts(parts: MessageParts, name: string): string {
  if (parts.files.length > 0 && parts.text.trim() === '') {
    throw new Failure('usage', `${name} is missing or empty`, { hint: 'Give it before -f, or on stdin.' })
  }
  return joinFiles({ ...parts, text: demandText(parts.text, name) })
}

async function readParts(line: MessageLine, context: Context): Promise<MessageParts> {
  const { argument, flags } = line
  if (flags.file === undefined) return { files: [], text: await readText(argument, context) }
  const { attachFiles } = await import('./attach-files.ts')
  const attached = await attachFiles(
    { ...line, names: flags.file, maxBytes: flags['max-file-size'] },
    context,
  )
  return { files: attached.files, text: await readText(attached.argument, context) }
}
