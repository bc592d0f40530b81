import { Failure } from '../../contract/failure.ts'
import { notUtf8 } from '../../system/files/decode-text.ts'
import { demandSize } from '../../system/files/read-named-file.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import type { Context } from '../context/context.ts'
import { whileSilent } from './read-input.ts'

/** A piece of text without white space. */
interface Word {
  text: string
  /** From 1. */
  line: number
}

const maxWordLength = 64 * 1024

/**
 * The words of stdin as they come, however many.
 *
 * @param what is awaited, for the line that a silent pipe gets
 * @throws Failure `refused` for bytes that are not UTF-8 and for a word without an end; `usage` when stdin was read before
 */
async function* readWords(what: string, { host: { stdin }, output, signal }: Context): AsyncIterable<Word> {
  if (stdin.readableEnded)
    throw new Failure('usage', `stdin was already read, so ${what} cannot come from it`)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let first: Uint8Array | undefined
  const decode = (bytes: Uint8Array = new Uint8Array()): string => {
    first ??= bytes
    try {
      return decoder.decode(bytes, { stream: bytes.length > 0 })
    } catch (cause) {
      throw notUtf8('stdin', first, cause)
    }
  }
  const chunks: AsyncIterator<Uint8Array> = stdin[Symbol.asyncIterator]()
  const stopTimer = whileSilent(what, output)
  let line = 1
  let rest = ''
  const split = function* (text: string): Iterable<Word> {
    for (const [piece] of text.matchAll(/\n|\S+/g)) {
      if (piece === '\n') line++
      else yield { text: piece, line }
    }
  }
  try {
    for (;;) {
      const { done, value } = await unlessAborted(chunks.next(), signal)
      stopTimer()
      if (done) break
      const text = rest + decode(value)
      // What it ends in may go on in the next chunk.
      rest = /(?<!\S)\S*$/.exec(text)?.[0] ?? ''
      demandSize(rest.length, maxWordLength, `stdin:${line}: the word`, 'refused')
      yield* split(text.slice(0, text.length - rest.length))
    }
    yield* split(rest + decode())
  } finally {
    stopTimer()
  }
}

/**
 * The values of arguments. Those from stdin replace `-`, as they arrive.
 *
 * @param read makes a value of a word from stdin
 * @throws Failure `usage` if `-` was given twice; as `readWords`
 */
export async function* withStdin<T>(
  given: readonly (T | '-')[],
  what: string,
  context: Context,
  read: (word: string, place: string) => T,
): AsyncGenerator<T> {
  if (given.filter((each) => each === '-').length > 1)
    throw new Failure('usage', 'stdin can be read only once, but - was given twice')
  for (const each of given) {
    if (each !== '-') yield each
    else
      for await (const { text, line } of readWords(what, context)) yield read(text, `line ${line} of stdin`)
  }
}
