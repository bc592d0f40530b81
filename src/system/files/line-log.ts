import {
  close,
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { syncDirectory } from './replace-file.ts'
import { linesWith } from './shared-lines.ts'

interface LineLogOptions {
  path: string
  /** Converts an error of the system. */
  failureOf(cause: unknown): Error
  /**
   * Whether other processes append to the file at the same time. Then nothing is truncated: each write begins with a
   * newline, which ends a line that another process has left incomplete. Readers skip empty and incomplete lines.
   */
  isShared?: boolean
  /** Called before the file is created for the first line. */
  onBegin?(): void
}

/**
 * An append-only file of lines, with mode 0600. It is created with the first line. The lines of one turn of the event
 * loop are one write, unless they are written in one piece. A killed process leaves whole lines, and at most one incomplete
 * line at the end.
 */
export class LineLog {
  readonly #options: LineLogOptions
  #file: number | undefined
  /** Of the lines in the file, in bytes. */
  #written = 0
  /** The lines that are not in the file yet, and their length in bytes. */
  #pending = ''
  #pendingSize = 0
  /** The next flush to disk, if a caller waits for it. */
  #nextFlush: PromiseWithResolvers<void> | undefined
  /** Whether a flush was requested in this turn of the event loop. */
  #isRequested = false
  #isFlushing = false
  #isScheduled = false
  /** Whether the file ends with a part of the lines that are not in it yet. */
  #isTorn = false
  /** Of the first flush that failed. */
  #flushFailure: Error | undefined
  #isClosed = false

  constructor(options: LineLogOptions) {
    this.#options = options
  }

  /**
   * Whether a flush has failed. A second one would report success, because the system reports the error only once.
   * So from then on every flush fails. Lines are still written: they may reach the disk.
   */
  get isBroken(): boolean {
    return this.#flushFailure !== undefined
  }

  /** Of all lines, in bytes. */
  get size(): number {
    return this.#written + this.#pendingSize
  }

  /**
   * Reads an existing file, and truncates an incomplete last line: it was not flushed, so nothing depends on it.
   * @param onLine called with each line and its offset in bytes
   */
  restore(onLine: (text: string, offset: number) => void): void {
    this.#guard(() => {
      const file = this.#open()
      for (const { text, at, end } of linesWith(this.#options.path)) {
        onLine(text, at)
        this.#written = end
      }
      if (this.#written < fstatSync(file).size) ftruncateSync(file, this.#written)
    })
  }

  /** The line survives the process after this turn of the event loop, and the machine after the next `flush`. */
  append(text: string): void {
    this.#add(text)
    this.#schedule()
  }

  /** The line survives the process when this returns. If this throws, the line is not in the file. */
  appendNow(text: string): void {
    const [before, size] = [this.#pending, this.#pendingSize]
    this.#add(text)
    try {
      this.#write()
    } catch (error) {
      this.#pending = before
      this.#pendingSize = size
      throw error
    }
  }

  /** Flushes all lines to disk before it returns. */
  flushNow(): void {
    this.#write()
    const file = this.#file
    if (file !== undefined) this.#guard(() => fdatasyncSync(file))
  }

  /** Reads a range of what was written. */
  read(start: number, into: Buffer): void {
    this.#guard(() => {
      for (let at = 0; at < into.length; ) {
        const read = readSync(this.#file ?? -1, into, at, into.length - at, start + at)
        if (read === 0) throw new Error('it has become shorter')
        at += read
      }
    })
  }

  /** Removes everything after an offset. */
  truncate(size: number): void {
    this.#pending = ''
    this.#pendingSize = 0
    this.#guard(() => ftruncateSync(this.#file ?? -1, size))
    this.#written = size
  }

  /**
   * Resolves when all lines are on disk. Concurrent calls share one system call. Lines that cannot be written are
   * written with the next ones. See `isBroken` for lines that were written, but not flushed.
   */
  flush(): Promise<void> {
    this.#nextFlush ??= Promise.withResolvers()
    this.#isRequested = true
    this.#schedule()
    return this.#nextFlush.promise
  }

  /** Writes the lines that are left. A flush in progress ends before the file is closed; a later one fails. */
  close(): void {
    try {
      this.#write()
    } finally {
      this.#abandon()
    }
  }

  /** Closes and removes the file. */
  remove(): void {
    this.#abandon()
    rmSync(this.#options.path, { force: true })
  }

  #abandon(): void {
    const file = this.#file
    this.#file = undefined
    this.#pending = ''
    this.#pendingSize = 0
    this.#isClosed = true
    if (file !== undefined && !this.#isFlushing) closeSync(file)
  }

  #add(text: string): void {
    this.#guard(() => this.#file ?? this.#begin())
    this.#pending += `${text}\n`
    this.#pendingSize += Buffer.byteLength(text) + 1
  }

  #begin(): number {
    if (this.#isClosed) throw new Error('The log is closed')
    this.#options.onBegin?.()
    return this.#open()
  }

  #open(): number {
    const file = openSync(this.#options.path, 'a+', 0o600)
    this.#file = file
    // A process that was killed while it created the file may not have flushed the directory.
    if (fstatSync(file).size === 0) syncDirectory(dirname(this.#options.path))
    return file
  }

  /** After everything that is ready to run now, and may append lines. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#writeAndFlush()
    })
  }

  #writeAndFlush(): void {
    const isRequested = this.#isRequested
    this.#isRequested = false
    try {
      this.#write()
      if (this.#isClosed) throw new Error('The log was closed before it was flushed')
      if (this.#flushFailure) throw this.#flushFailure
    } catch (error) {
      // Without a caller to tell, the lines wait for the next one.
      this.#takeFlush()?.reject(error)
      return
    }
    if (this.#isFlushing || this.#nextFlush === undefined) return
    // Those who request it in the next turn share the flush, because one costs as much as half a request.
    if (isRequested) this.#schedule()
    else this.#startFlush()
  }

  #startFlush(): void {
    const flush = this.#takeFlush()
    const file = this.#file
    if (file === undefined) {
      flush?.resolve()
      return
    }
    this.#isFlushing = true
    fdatasync(file, (cause) => {
      this.#isFlushing = false
      if (cause) {
        this.#flushFailure = this.#options.failureOf(cause)
        flush?.reject(this.#flushFailure)
      } else flush?.resolve()
      if (this.#nextFlush !== undefined) this.#schedule()
      if (this.#file !== file) close(file, () => {})
    })
  }

  #takeFlush(): PromiseWithResolvers<void> | undefined {
    const flush = this.#nextFlush
    this.#nextFlush = undefined
    return flush
  }

  /** Writes all lines or none, because the next line would be appended to an incomplete one. */
  #write(): void {
    const file = this.#file
    if (file === undefined || this.#pending === '') return
    this.#guard(() => {
      if (this.#options.isShared) return writeWhole(file, `\n${this.#pending}`)
      if (this.#isTorn) ftruncateSync(file, this.#written)
      this.#isTorn = true
      try {
        writeText(file, this.#pending, this.#pendingSize)
      } catch (error) {
        ftruncateSync(file, this.#written)
        this.#isTorn = false
        throw error
      }
      this.#isTorn = false
    })
    this.#written += this.#pendingSize
    this.#pending = ''
    this.#pendingSize = 0
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (cause) {
      throw cause instanceof Failure ? cause : this.#options.failureOf(cause)
    }
  }
}

/** In one call, so that the lines of two processes do not mix. */
function writeWhole(file: number, text: string): void {
  if (writeSync(file, text) < Buffer.byteLength(text)) throw new Error('not enough space for the whole line')
}

/** As a string, because a new buffer for each write grows the memory faster than garbage is collected. */
function writeText(file: number, text: string, size: number): void {
  const written = writeSync(file, text)
  if (written === size) return
  const bytes = Buffer.from(text)
  for (let at = written; at < size; ) at += writeSync(file, bytes, at)
}
