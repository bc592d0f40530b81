import { isUtf8 } from 'node:buffer'
import { Failure } from '../../contract/failure.ts'
import { conversionHint, encodingWords, foreignEncodingOf } from '../../contract/notation/text.ts'
import type { Input } from './input.ts'
import { maxRowLength, rowTooLarge } from './input-row.ts'

/**
 * Decodes an input in chunks, without a byte order mark.
 *
 * @throws Failure `refused` for text that is not UTF-8 or contains NUL, with the line
 */
export async function* decodeChunks({ name, read }: Pick<Input, 'name' | 'read'>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let first: Uint8Array = new Uint8Array()
  let line = 1
  const notUtf8 = (at: number): Failure => {
    const hint = conversionHint(first, name)
    return new Failure('refused', `${name} is ${encodingWords(first)} at line ${at}`, { hint })
  }
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw notUtf8(line + (chunk ? linesBeforeFault(chunk) : 0))
    }
  }
  for await (const chunk of read()) {
    if (first.length === 0) first = chunk.slice(0, 4)
    const text = decode(chunk)
    const nul = text.indexOf('\0')
    if (nul !== -1) {
      const at = line + newlinesIn(text.slice(0, nul))
      if (foreignEncodingOf(first) !== undefined) throw notUtf8(at)
      throw new Failure('refused', `${name} is not text: NUL character on line ${at}`)
    }
    line += newlinesIn(text)
    yield text
  }
  decode()
}

/** A multibyte character contains no byte of a newline, but may begin in the chunk before. */
function linesBeforeFault(chunk: Uint8Array): number {
  const lines = Buffer.from(chunk)
    .toString('latin1')
    .replace(/^[\x80-\xbf]{1,3}/, '')
    .split('\n')
  const faulty = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')))
  return faulty === -1 ? lines.length - 1 : faulty
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1
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
