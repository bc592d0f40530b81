import { readSync } from 'node:fs'

const newline = 0x0a

/**
 * The lines of a file from the last to the first, without empty lines. What follows the last newline is a line, too.
 *
 * @param size in bytes; what is appended later is not read
 * @param chunkSize bytes that are read at once
 */
export function* readLinesBackward(
  descriptor: number,
  size: number,
  chunkSize = 256 * 1024,
): Generator<string> {
  /** The beginning of the line that continues in the next chunk, in parts from the end. */
  let parts: Buffer[] = []
  const take = (first: Buffer): string => {
    const text = Buffer.concat([first, ...parts.reverse()]).toString('utf8')
    parts = []
    return text
  }
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunkSize)
    const chunk = Buffer.allocUnsafe(end - start)
    const read = readSync(descriptor, chunk, 0, chunk.length, start)
    let to = read
    for (let at = chunk.subarray(0, to).lastIndexOf(newline); at !== -1; ) {
      const line = take(chunk.subarray(at + 1, to))
      if (line !== '') yield line
      to = at
      at = chunk.subarray(0, to).lastIndexOf(newline)
    }
    parts.push(chunk.subarray(0, to))
    end = start
  }
  const first = take(Buffer.alloc(0))
  if (first !== '') yield first
}
