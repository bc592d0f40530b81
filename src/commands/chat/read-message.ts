import type { Context } from '../../cli/context/context.ts'
import { demandText, readText } from '../../cli/input/read-input.ts'
import type { FilledPrompt } from '../../config/prompts/fill-prompt.ts'
import { Failure } from '../../contract/failure.ts'
import { joinFiles, type MessageParts } from '../../contract/resources/file-block.ts'
import { applyPrompt, type PromptChoice } from './apply-prompt.ts'
import type { FileChoice } from './file-flags.ts'

/** The command line of a message. */
interface MessageLine {
  /** The command, `chat send`. */
  command: string
  /** The words after it. */
  argv: readonly string[]
  /** The argument with the text. */
  argument: string | undefined
  flags: FileChoice & PromptChoice & { context?: string | undefined }
}

/**
 * The message of `chat send`: the files of `--file`, and the text from the argument, stdin, or both. With
 * `--prompt`, they are the input of that prompt.
 *
 * @throws Failure `usage` for an empty text, `refused` for files that cannot be sent; as `applyPrompt`
 */
export async function readMessage(line: MessageLine, context: Context): Promise<FilledPrompt> {
  const parts = await readParts(line, context)
  const { context: contextId, prompt } = line.flags
  if (prompt === undefined && parts.text.trim() === '' && contextId !== undefined) {
    // In other tools, `-c` continues the last conversation, and the next word is the message.
    throw new Failure('usage', 'MESSAGE is missing or empty', {
      hint: `-c is --context, and took "${contextId}". Continue the last conversation with: --continue`,
    })
  }
  return applyPrompt(joinParts(parts, 'MESSAGE', line), 'MESSAGE', line.flags, context)
}

/**
 * The prompt of `chat complete`, from the same sources.
 *
 * @param mayBeEmpty whether the request has other messages; files need a text in any case
 * @throws Failure as `readMessage`
 */
export async function readPrompt(
  line: MessageLine,
  mayBeEmpty: boolean,
  context: Context,
): Promise<FilledPrompt> {
  const parts = await readParts(line, context)
  const name = mayBeEmpty && parts.files.length === 0 ? undefined : 'PROMPT'
  return applyPrompt(joinParts(parts, name, line), name, line.flags, context)
}

/** @param name of the argument; undefined if the text may be empty, as it may with `--prompt` */
function joinParts(parts: MessageParts, name: string | undefined, { flags }: MessageLine): string {
  if (flags.prompt !== undefined || name === undefined) return joinFiles(parts)
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
