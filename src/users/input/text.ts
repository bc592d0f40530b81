import { Failure } from '../../contract/failure.ts'
import { conversionHint, encodingWords, foreignEncodingOf } from '../../contract/notation/text.ts'
import type { Input } from './input.ts'

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
