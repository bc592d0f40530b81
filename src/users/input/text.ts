import { Failure } from '../../contract/failure.ts'
import { conversionHint, encodingWords, foreignEncodingOf } from '../../contract/notation/text.ts'
import type { Input } from './input.ts'
import { maxRowLength, rowTooLarge } from './input-row.ts'

/**
 * Decodes an input in chunks, without a byte order mark.
 *
 * @throws Failure `refused` for text that is not UTF-8 or contains NUL
 */
export async function* decodeChunks({ name, read }: Pick<Input, 'name' | 'read'>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let first: Uint8Array = new Uint8Array()
  const notUtf8 = (): Failure =>
    new Failure('refused', `${name} is ${encodingWords(first)}`, { hint: conversionHint(first, name) })
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw notUtf8()
    }
  }
  for await (const chunk of read()) {
    if (first.length === 0) first = chunk.slice(0, 4)
    const text = decode(chunk)
    if (text.includes('\0')) {
      const isForeign = foreignEncodingOf(first) !== undefined
      throw isForeign ? notUtf8() : new Failure('refused', `${name} is not text: it contains a NUL character`)
    }
    yield text
  }
  decode()
}

/** A line of the input, from 1, without its newline. */
export interface TextLine {
  line: number
  text: string
}

/** Splits chunks of text into lines. */
export class TextLines {
  readonly #name: string
  #pending = ''
  #line = 1

  /** @param name of the input, for errors */
  constructor(name: string) {
    this.#name = name
  }

  /**
   * @param isLast whether the text is the end of the input
   * @throws Failure `refused` for a line that is longer than `maxRowLength`
   */
  take(text: string, isLast: boolean): TextLine[] {
    const all = this.#pending + text
    const lines: TextLine[] = []
    let at = 0
    while (at < all.length) {
      const newline = all.indexOf('\n', at)
      const end = newline === -1 ? all.length : newline
      if (end - at > maxRowLength) throw rowTooLarge(this.#name, this.#line)
      if (newline === -1 && !isLast) break
      lines.push({ line: this.#line++, text: all.slice(at, end) })
      at = end + 1
    }
    this.#pending = all.slice(at)
    return lines
  }
}
