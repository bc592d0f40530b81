import { isUtf8 } from 'node:buffer'
import { Failure } from '../../contract/failure.ts'
import { conversionHint, encodingWords, foreignEncodingOf } from '../../contract/foreign-encoding.ts'
import type { Input } from './input.ts'

const newline = 10

/**
 * The text of an input in pieces, without a byte order mark.
 * @throws Failure `refused` for what is not UTF-8, and for a NUL, naming the line
 */
export async function* decodeText(input: Input): AsyncGenerator<string> {
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
    const whole = wholeCharacters(bytes)
    const part = bytes.subarray(0, whole)
    check(part, { line, name: input.name, first })
    line += countLines(part)
    const text = part.toString()
    rest = Buffer.from(bytes.subarray(whole))
    if (whole === 0) continue
    yield isFirst ? text.replace(/^\ufeff/, '') : text
    isFirst = false
  }
  if (rest.length > 0) throw notUtf8({ line, name: input.name, first })
}

/** The bytes up to the beginning of a character that has not come as a whole (RFC 3629 section 3). */
function wholeCharacters(bytes: Buffer): number {
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

/** Where a part of an input begins, and the first bytes of the input. */
interface Beginning {
  line: number
  name: string
  first: Uint8Array
}

function check(bytes: Buffer, beginning: Beginning): void {
  const { line, name, first } = beginning
  if (!isUtf8(bytes)) throw notUtf8({ ...beginning, line: line + linesBeforeFault(bytes) })
  const nul = bytes.indexOf(0)
  if (nul === -1) return
  const at = line + countLines(bytes.subarray(0, nul))
  if (foreignEncodingOf(first) !== undefined) throw notUtf8({ ...beginning, line: at })
  throw new Failure('refused', `${name} is not text: NUL character on line ${at}`)
}

/** No byte of a longer character looks like a newline, so that each line stands for itself. */
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

function notUtf8({ name, line, first }: Beginning): Failure {
  const hint = conversionHint(first, name)
  return new Failure('refused', `${name} is ${encodingWords(first)} at line ${line}`, { hint })
}
