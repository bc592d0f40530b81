import { Failure } from '../../contract/failure.ts'
import { notUtf8 } from '../../system/decode-text.ts'
import { demandSize } from '../../system/read-named-file.ts'
import type { Context } from '../context.ts'
import { unlessInterrupted } from '../interruption.ts'
import { whileSilent } from './read-input.ts'

/** A piece of text without white space. */
export interface Word {
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
export async function* readWords(
  what: string,
  { host: { stdin }, output, signal }: Context,
): AsyncIterable<Word> {
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
      const { done, value } = await unlessInterrupted(chunks.next(), signal)
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
