import { Failure, type Help } from '../../contract/failure.ts'
import {
  demandSize,
  maxSecretBytes,
  maxTextBytes,
  readNamedFile,
} from '../../system/files/read-named-file.ts'
import { decodeText } from '../../system/files/read-text-files.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import type { Context } from '../context/context.ts'

/** How long a pipe may stay silent before a line says what is awaited, in ms. */
const silence = 2_000

/**
 * All of stdin as UTF-8 text.
 * @param what is awaited, for the line that a silent pipe gets
 * @throws Failure `refused` for bytes that are not UTF-8, a NUL, or more than `maxBytes`; `usage`
 *   when it was read before
 */
export async function readStdin(
  what: string,
  { host, output, signal }: Context,
  maxBytes = maxTextBytes,
  ifTooLarge?: Help,
): Promise<string> {
  if (host.isStdinNull) return ''
  const { stdin } = host
  if (stdin.readableEnded)
    throw new Failure('usage', `stdin was already read, so ${what} cannot come from it`)
  const timer = setTimeout(() => output.notice(`Waiting for ${what} on stdin…`), silence)
  const chunks: Buffer[] = []
  let total = 0
  const read = async (): Promise<void> => {
    for await (const chunk of stdin) {
      clearTimeout(timer)
      total += chunk.length
      demandSize(total, maxBytes, 'stdin', 'refused', ifTooLarge)
      chunks.push(chunk)
    }
  }
  try {
    await unlessAborted(read(), signal)
  } finally {
    clearTimeout(timer)
  }
  return decodeText(Buffer.concat(chunks), 'stdin')
}

/** Whether stdin is a pipe or a file that was not read yet, rather than a terminal. */
export function hasPipedStdin({ host }: Context): boolean {
  return !host.isTerminal.stdin && (host.isStdinNull || !host.stdin.readableEnded)
}

/** @throws Failure `refused` when it cannot be read, is not text, or is larger than `maxBytes` */
export function readTextFile(path: string, context: Context, maxBytes = maxTextBytes, name?: string): string {
  const file = { at: context.resolvePath(path), maxBytes, kind: 'refused', ...(name && { name }) } as const
  return decodeText(readNamedFile(path, file), path)
}

/** @throws Failure as `readTextFile`, and `refused` where other users can write to it */
export function readSecretFile(path: string, context: Context): string {
  const at = context.resolvePath(path)
  const file = { at, maxBytes: maxSecretBytes, isSecret: true, kind: 'refused' } as const
  return decodeText(readNamedFile(path, file), path)
}

/** Files end in a newline that is not part of the text. */
export function withoutFinalNewline(text: string): string {
  return text.replace(/\r?\n$/, '')
}

/**
 * A text given as a value: itself, `@FILE` for the content of a file, or `-` or `@-` for stdin. `@@TEXT` is a
 * text that begins with an @. A final newline of a file or stdin is removed.
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
  throw new Failure('usage', `${name} is missing or empty`, { hint: 'Give it as an argument or on stdin.' })
}

/**
 * The values of arguments. The words of stdin replace `-`.
 * @param what is awaited, for the line that a silent pipe gets
 * @param read makes a value of a word from stdin
 * @throws Failure `usage` if `-` was given twice; as `readStdin`
 */
export async function* withStdin<T>(
  given: readonly (T | '-')[],
  what: string,
  context: Context,
  read: (word: string, place: string) => T,
): AsyncGenerator<T> {
  demandOneStdin(given)
  for (const each of given) {
    if (each !== '-') yield each
    else {
      const lines = (await readStdin(what, context)).split('\n')
      for (const [index, line] of lines.entries())
        for (const [word] of line.matchAll(/\S+/g)) yield read(word, `line ${index + 1} of stdin`)
    }
  }
}

/** @throws Failure `usage` if `-` was given twice */
export function demandOneStdin(given: readonly unknown[]): void {
  if (given.filter((each) => each === '-').length > 1)
    throw new Failure('usage', 'stdin can be read only once, but - was given twice')
}
