import { fdatasync, fstatSync, readSync } from 'node:fs'

const newline = 10

/**
 * Reads a file line by line, without an incomplete last line.
 *
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

/** The line that begins at an offset, in bytes. */
export function readLineAt(file: number, offset: number): string {
  const chunk = Buffer.allocUnsafe(4096)
  let text = Buffer.alloc(0)
  for (let at = offset; ; ) {
    const read = readSync(file, chunk, 0, chunk.length, at)
    text = Buffer.concat([text, chunk.subarray(0, read)])
    const end = text.indexOf(newline)
    if (end !== -1 || read === 0) return text.toString('utf8', 0, end === -1 ? text.length : end)
    at += read
  }
}

/** Flushes a file to disk. Concurrent calls share one system call. */
export class FlushQueue {
  readonly #file: () => number | undefined
  readonly #failureOf: (cause: Error) => Error
  #waiting: ((error?: Error) => void)[] = []
  #isFlushing = false

  /** @param file its descriptor; undefined if nothing was written yet */
  constructor(file: () => number | undefined, failureOf: (cause: Error) => Error) {
    this.#file = file
    this.#failureOf = failureOf
  }

  /** Resolves when everything written before the call is on disk. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push((error) => (error ? reject(error) : resolve()))
      this.#next()
    })
  }

  #next(): void {
    if (this.#isFlushing || this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    const file = this.#file()
    if (file === undefined) {
      for (const settle of waiting) settle()
      return
    }
    this.#isFlushing = true
    fdatasync(file, (cause) => {
      this.#isFlushing = false
      const failure = cause === null ? undefined : this.#failureOf(cause)
      for (const settle of waiting) settle(failure)
      this.#next()
    })
  }
}
