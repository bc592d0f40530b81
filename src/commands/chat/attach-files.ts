import { existsSync } from 'node:fs'
import { commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { readStdin } from '../../cli/input/read-input.ts'
import { Failure } from '../../contract/failure.ts'
import type { TextFile } from '../../contract/resources/file-block.ts'
import { ifFileTooLarge, maxFileBytes, readEach, readTextFileAt } from '../../system/files/read-text-files.ts'

export interface FileLine {
  /** The command, `chat send`. */
  command: string
  /** The words after it. */
  argv: readonly string[]
  /** The argument with the text. */
  argument: string | undefined
  flags: { file?: string[] | undefined; 'max-file-size'?: number | undefined }
}

/**
 * Reads the files of `--file`. All words after `-f` are files, but the message may be the last of them: in
 * quotes, with a space in it.
 * @returns the files, and the message if it is a word of the command line
 * @throws Failure `refused` that names every file that cannot be sent
 */
export async function attachFiles({ command, argv, argument, flags }: FileLine, context: Context) {
  // The words that oclif takes for values of --file.
  const { file: names = [], 'max-file-size': maxBytes = maxFileBytes } = flags
  const last = names.at(-1) ?? ''
  // A word directly after the flag is a file in any case.
  const mayBeMessage =
    argument === undefined &&
    !followsFlag(last, argv) &&
    last !== '-' &&
    !existsSync(context.resolvePath(last))
  const isMessage = mayBeMessage && /\s/.test(last)
  const read = async (name: string): Promise<TextFile> =>
    name === '-' || name === '/dev/stdin'
      ? { name: 'stdin', content: await readStdin('a file', context, maxBytes, ifFileTooLarge) }
      : readTextFileAt(name, context.resolvePath(name), maxBytes)
  try {
    const files = await readEach(isMessage ? names.slice(0, -1) : names, read)
    return { files, argument: isMessage ? last : argument }
  } catch (error) {
    if (!(error instanceof Failure && mayBeMessage && !isMessage)) throw error
    const line = commandLine(...command.split(' '), last, '-f', ...names.slice(0, -1))
    throw error.reworded(error.message, { hint: `If "${last}" is the message, put it before -f: ${line}` })
  }
}

function followsFlag(word: string, argv: readonly string[]): boolean {
  const at = argv.lastIndexOf(word)
  // -f=FILE and --file=FILE are one word.
  return at < 0 || /^(--file|-[a-zA-Z]*f)$/.test(argv[at - 1] ?? '')
}
