import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** A complete line, and its offset in bytes. */
export interface Line {
  text: string
  at: number
}

const newline = 0x0a
const chunkSize = 128 * 1024

/**
 * The complete lines that contain one of the texts (default: all lines), in their order. The bytes are searched before they are decoded, so
 * that it takes less than 1 ms for each MB. A missing file has no lines.
 * @param start offset of a line
 * @returns `end` is the offset of the next line
 */
export function* linesWith(
  path: string,
  texts: readonly string[] = [],
  start = 0,
): Generator<Line & { end: number }> {
  const wanted = texts.map((text) => Buffer.from(text))
  for (const { bytes, offset } of wholeLines(path, start)) {
    const next = wanted.map(() => -1)
    for (let from = 0; from < bytes.length; ) {
      for (const [index, text] of wanted.entries()) {
        if ((next[index] ?? 0) >= from) continue
        const at = bytes.indexOf(text, from)
        next[index] = at === -1 ? Number.POSITIVE_INFINITY : at
      }
      const isAny = wanted.length === 0
      const found = isAny ? from : Math.min(...next)
      if (found === Number.POSITIVE_INFINITY) break
      const start = isAny ? from : bytes.lastIndexOf(newline, found) + 1
      const end = bytes.indexOf(newline, found)
      from = end + 1
      yield { text: bytes.toString('utf8', start, end), at: offset + start, end: offset + from }
    }
  }
}

/** The complete lines from the last one to that at an offset. */
export function* linesBackward(path: string, first = 0): Generator<Line> {
  const file = openIfAny(path)
  if (file === undefined) return
  try {
    /** The beginning of the lines that were read, up to the first newline. */
    let rest = Buffer.alloc(0)
    let isIncomplete = true
    for (let end = fstatSync(file).size; end > first; ) {
      const start = Math.max(first, end - chunkSize)
      const chunk = Buffer.allocUnsafe(end - start)
      const read = readSync(file, chunk, 0, chunk.length, start)
      let bytes = Buffer.concat([chunk.subarray(0, read), rest])
      if (isIncomplete) bytes = bytes.subarray(0, bytes.lastIndexOf(newline) + 1)
      isIncomplete &&= bytes.length === 0
      end = start
      rest = Buffer.alloc(0)
      for (let to = bytes.length - 1; to >= 0; ) {
        const before = to === 0 ? -1 : bytes.lastIndexOf(newline, to - 1)
        if (before === -1 && start > first) {
          rest = bytes.subarray(0, to + 1)
          break
        }
        yield { text: bytes.toString('utf8', before + 1, to), at: start + before + 1 }
        to = before
      }
    }
  } finally {
    closeSync(file)
  }
}

/** The file in parts that end with a newline, each valid until the next one is read. */
function* wholeLines(path: string, from: number): Generator<{ bytes: Buffer; offset: number }> {
  const file = openIfAny(path)
  if (file === undefined) return
  try {
    let buffer = Buffer.allocUnsafe(chunkSize)
    for (let kept = 0, offset = from; ; ) {
      if (kept === buffer.length) buffer = Buffer.concat([buffer], 2 * kept)
      const read = readSync(file, buffer, kept, buffer.length - kept, offset + kept)
      if (read === 0) return
      const size = kept + read
      const end = buffer.lastIndexOf(newline, size - 1) + 1
      if (end > 0) yield { bytes: buffer.subarray(0, end), offset }
      buffer.copyWithin(0, end, size)
      kept = size - end
      offset += end
    }
  } finally {
    closeSync(file)
  }
}

function openIfAny(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
