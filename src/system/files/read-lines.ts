import { fstatSync, readSync } from 'node:fs'

const newline = 10

/**
 * Reads a file line by line, without an incomplete last line.
 * @param onLine called with each line and its offset in bytes
 * @returns the size of the complete lines, and of the file, in bytes
 */
export function readCompleteLines(
  file: number,
  onLine: (text: string, offset: number) => void,
): { complete: number; end: number } {
  const end = fstatSync(file).size
  const chunk = Buffer.allocUnsafe(1024 * 1024)
  let pending = Buffer.alloc(0)
  let complete = 0
  for (let at = 0; at < end; ) {
    const read = readSync(file, chunk, 0, chunk.length, at)
    if (read === 0) break
    at += read
    const bytes = Buffer.concat([pending, chunk.subarray(0, read)])
    let from = 0
    for (let to = bytes.indexOf(newline); to !== -1; to = bytes.indexOf(newline, from)) {
      onLine(bytes.toString('utf8', from, to), complete)
      complete += to + 1 - from
      from = to + 1
    }
    pending = bytes.subarray(from)
  }
  return { complete, end }
}
