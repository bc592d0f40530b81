import { Failure, type Help } from '../../contract/failure.ts'
import { decodeText } from '../../system/files/decode-text.ts'
import {
  demandSize,
  maxSecretBytes,
  maxTextBytes,
  readNamedFile,
} from '../../system/files/read-named-file.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import type { Context } from '../context/context.ts'
import type { Output } from '../output/output.ts'

/** How long a pipe may stay silent before a line says what is awaited, in ms. */
const silence = 2_000

/**
 * All of stdin as UTF-8 text.
 *
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
  const stopTimer = whileSilent(what, output)
  const chunks: Buffer[] = []
  let total = 0
  const read = async (): Promise<void> => {
    for await (const chunk of stdin) {
      stopTimer()
      total += chunk.length
      demandSize(total, maxBytes, 'stdin', 'refused', ifTooLarge)
      chunks.push(chunk)
    }
  }
  try {
    await unlessAborted(read(), signal)
  } finally {
    stopTimer()
  }
  return decodeText(Buffer.concat(chunks), 'stdin')
}

/**
 * Says what is awaited, where nothing comes for a while.
 * @returns what stops it
 */
export function whileSilent(what: string, output: Output): () => void {
  const timer = setTimeout(() => output.notice(`Waiting for ${what} on stdin…`), silence)
  return () => clearTimeout(timer)
}

/** Whether stdin is a pipe or a file that was not read yet, rather than a terminal. */
export function hasPipedStdin({ host }: Context): boolean {
  return !host.isTerminal.stdin && (host.isStdinNull || !host.stdin.readableEnded)
}

/** @throws Failure `refused` when it cannot be read, is not text, or is larger than `maxBytes` */
export function readTextFile(path: string, context: Context, maxBytes = maxTextBytes): string {
  return decodeText(readNamedFile(path, { at: context.resolvePath(path), maxBytes, kind: 'refused' }), path)
}

/** @throws Failure as `readTextFile`, and `refused` where other users can write to it */
export function readSecretFile(path: string, context: Context): string {
  const at = context.resolvePath(path)
  const file = { at, maxBytes: maxSecretBytes, isSecret: true, kind: 'refused' } as const
  return decodeText(readNamedFile(path, file), path)
}

/** Files end in a newline that nobody means. */
export function withoutFinalNewline(text: string): string {
  return text.replace(/\r?\n$/, '')
}
