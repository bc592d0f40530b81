import { isUtf8 } from 'node:buffer'
import { Failure } from '../../../contract/failure.ts'
import {
  conversionHint,
  encodingWords,
  foreignEncodingOf,
} from '../../../contract/notation/foreign-encoding.ts'
import type { Input } from '../input.ts'

const newline = 10

/**
 * Decodes an input in chunks, without a byte order mark.
 *
 * @throws Failure `refused` for text that is not UTF-8 or contains NUL, with the line
 */
export async function* decodeChunks(input: Pick<Input, 'name' | 'read'>): AsyncGenerator<string> {
  let line = 1
  let rest: Buffer = Buffer.alloc(0)
  let isFirst = true
  let first: Uint8Array = rest
  for await (const chunk of input.read()) {
    const bytes =
      rest.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([rest, chunk])
    if (first.length < 4) first = Buffer.concat([first, chunk.subarray(0, 4)]).subarray(0, 4)
    const length = completeLength(bytes)
    const part = bytes.subarray(0, length)
    check(part, { line, name: input.name, first })
    line += countLines(part)
    const text = part.toString()
    rest = Buffer.from(bytes.subarray(length))
    if (length === 0) continue
    yield isFirst ? text.replace(/^\ufeff/, '') : text
    isFirst = false
  }
  if (rest.length > 0) throw notUtf8({ line, name: input.name, first })
}

/** The number of bytes before an incomplete last character (RFC 3629 section 3). */
function completeLength(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) break
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return length > back ? bytes.length - back : bytes.length
    }
  }
  return bytes.length
}

/** The place of a chunk, and the first bytes of the input. */
interface ChunkStart {
  line: number
  name: string
  first: Uint8Array
}

function check(bytes: Buffer, start: ChunkStart): void {
  const { line, name, first } = start
  if (!isUtf8(bytes)) throw notUtf8({ ...start, line: line + linesBeforeFault(bytes) })
  const nul = bytes.indexOf(0)
  if (nul === -1) return
  const at = line + countLines(bytes.subarray(0, nul))
  if (foreignEncodingOf(first) !== undefined) throw notUtf8({ ...start, line: at })
  throw new Failure('refused', `${name} is not text: NUL character on line ${at}`)
}

/** Lines can be checked separately, because no multibyte character contains the byte of a newline. */
function linesBeforeFault(bytes: Buffer): number {
  for (let line = 0, start = 0; ; line++) {
    const end = bytes.indexOf(newline, start)
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) return line
    start = end + 1
  }
}

function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count++
  return count
}

function notUtf8({ name, line, first }: ChunkStart): Failure {
  const hint = conversionHint(first, name)
  return new Failure('refused', `${name} is ${encodingWords(first)} at line ${line}`, { hint })
}
