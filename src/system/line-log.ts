import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { syncDirectory } from './replace-file.ts'

const newline = 10

interface LineLogOptions {
  path: string
  /** Converts an error of the system. */
  failureOf(cause: unknown): Error
  /** Called before the file is created for the first line. */
  onBegin?(): void
}

/**
 * An append-only file of lines, with mode 0600. It is created with the first line. A killed process leaves
 * whole lines, and at most one incomplete line at the end.
 */
export class LineLog {
  readonly #options: LineLogOptions
  readonly #queue = new FlushQueue(
    () => this.#file,
    (cause) => this.#options.failureOf(cause),
  )
  #file: number | undefined
  #size = 0

  constructor(options: LineLogOptions) {
    this.#options = options
  }

  /** Of all lines, in bytes. */
  get size(): number {
    return this.#size
  }

  /**
   * Reads an existing file, and truncates an incomplete last line: it was not flushed, so nothing depends on it.
   *
   * @param onLine called with each line and its offset in bytes
   */
  restore(onLine: (text: string, offset: number) => void): void {
    this.#guard(() => {
      const file = this.#open()
      const { complete, end } = readCompleteLines(file, onLine)
      this.#size = complete
      if (complete < end) ftruncateSync(file, complete)
    })
  }

  /** Writes the line to the file. It survives the process at once, and the machine after the next `flush`. */
  append(text: string): void {
    const bytes = Buffer.from(`${text}\n`)
    this.#guard(() => this.#write(this.#file ?? this.#begin(), bytes))
    this.#size += bytes.length
  }

  /** The line that begins at an offset, in bytes; undefined if the file does not exist yet. */
  lineAt(offset: number): string | undefined {
    return this.#file === undefined ? undefined : readLineAt(this.#file, offset)
  }

  /** Resolves when all lines are on disk. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #begin(): number {
    this.#options.onBegin?.()
    const file = this.#open()
    syncDirectory(dirname(this.#options.path))
    return file
  }

  #open(): number {
    this.#file = openSync(this.#options.path, 'a+', 0o600)
    return this.#file
  }

  /** Writes all bytes or none, because the next line would be appended to an incomplete one. */
  #write(file: number, bytes: Buffer): void {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    } catch (error) {
      ftruncateSync(file, this.#size)
      throw error
    }
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (cause) {
      throw cause instanceof Failure ? cause : this.#options.failureOf(cause)
    }
  }
}

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
function readLineAt(file: number, offset: number): string {
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
class FlushQueue {
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
