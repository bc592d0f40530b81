import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../../failure.ts'
import { syncFolder } from '../../sync-folder.ts'
import { systemWords } from '../../system-words.ts'
import type { Step } from '../rows/user-row.ts'
import {
  type FileLine,
  type JournalHeader,
  type JournalLine,
  readJournalLine,
  type StepLine,
} from './journal-line.ts'
import { RowStates } from './row-states.ts'

const newline = 10

export interface JournalOpening {
  path: string
  header: JournalHeader
  /** Ms, of the quota that is kept. */
  window: number
  /** Passes over the one that is there. */
  restart?: boolean
  /** Is called before a journal that begins gets its file: until then nothing is forgotten. */
  onBegin?(): void
  /** Gives back the lock of the path, which the opener has taken. */
  release(): void
}

/**
 * The append-only record by which an import resumes. An intent is on disk before its request leaves;
 * an outcome is the system's as soon as it is known, and on disk with the next intent. What a crash
 * of the machine can take is outcomes alone, and a row without one is unknown, never sent twice.
 */
export class Journal {
  readonly rows: RowStates
  readonly #path: string
  readonly #header: JournalHeader
  /** Ms. */
  readonly #window: number
  readonly #onBegin: (() => void) | undefined
  readonly #release: () => void
  #file: number | undefined
  #size = 0
  #waiting: ((error?: Error) => void)[] = []
  #isSyncing = false
  readonly #files = new Map<FileLine['type'], FileLine>()
  #spent = { since: 0, requests: 0 }

  private constructor(opening: JournalOpening) {
    this.#path = opening.path
    this.#header = opening.header
    this.rows = new RowStates(opening.header.input.rows)
    this.#window = opening.window
    this.#onBegin = opening.onBegin
    this.#release = opening.release
  }

  /**
   * Begins one, or goes on with the one that is there.
   *
   * @throws Failure `storage`
   */
  static open(opening: JournalOpening): Journal {
    return guard(opening.path, () => {
      const journal = new Journal(opening)
      if (opening.restart !== true && existsSync(opening.path)) journal.#restore(journal.#openFile())
      return journal
    })
  }

  /** What the import has written last, undefined for nothing. */
  fileOf(type: FileLine['type']): FileLine | undefined {
    return this.#files.get(type)
  }

  /** What was sent in the window of the quota that began last. */
  get spent(): { since: number; requests: number } {
    return this.#spent
  }

  /** The last that was written of a row: its id and error. */
  lastLine(row: number): StepLine | undefined {
    const offset = this.rows.offsetOf(row)
    if (offset === 0 || this.#file === undefined) return undefined
    const line = readJournalLine(lineAt(this.#file, offset))
    return line && 'row' in line ? line : undefined
  }

  /** Resolves when the intent is on disk: only then may the request leave. */
  intend(row: number, step: Step, id: string | undefined): Promise<void> {
    this.#append({ row, step, at: Date.now(), ...(id !== undefined && { id }) })
    return this.sync()
  }

  /** What became of a step. It outlasts the process at once, the machine with the next `sync`. */
  record(line: StepLine & { did: NonNullable<StepLine['did']> }): void {
    this.#append(line)
  }

  noteFile(line: FileLine): void {
    const last = this.#files.get(line.type)
    if (last?.path !== line.path || last.mark !== line.mark) this.#append(line)
  }

  /** Resolves when all that was written is on disk: one call of the system for all that wait. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push((error) => (error ? reject(error) : resolve()))
      this.#syncNext()
    })
  }

  #syncNext(): void {
    if (this.#isSyncing || this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    if (this.#file === undefined) {
      for (const settle of waiting) settle()
      return
    }
    this.#isSyncing = true
    fdatasync(this.#file, (cause) => {
      this.#isSyncing = false
      const failure = cause === null ? undefined : unwritable(this.#path, cause)
      for (const settle of waiting) settle(failure)
      this.#syncNext()
    })
  }

  async close(): Promise<void> {
    try {
      await this.sync()
    } finally {
      this.abandon()
    }
  }

  /** Closes it without a wait: for what only read it. */
  abandon(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#release()
  }

  /** The header comes with the first line after it: a run that sends nothing leaves no journal. */
  #append(line: JournalLine): void {
    if (this.#size === 0 && line !== this.#header) this.#append(this.#header)
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    guard(this.#path, () => this.#write(this.#file ?? this.#begin(), bytes))
    this.#take(line, this.#size)
    this.#size += bytes.length
  }

  #begin(): number {
    this.#onBegin?.()
    const file = this.#openFile()
    syncFolder(dirname(this.#path))
    return file
  }

  #openFile(): number {
    this.#file = openSync(this.#path, 'a+', 0o600)
    return this.#file
  }

  /** All of it or nothing: what comes next would go on with half a line. */
  #write(file: number, bytes: Buffer): void {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    } catch (error) {
      ftruncateSync(file, this.#size)
      throw error
    }
  }

  #take(line: JournalLine, offset: number): void {
    if ('row' in line) {
      this.rows.take(line, offset)
      if (line.at !== undefined) this.#count(line.at)
    } else if (line.type !== 'import') this.#files.set(line.type, line)
  }

  /** A window begins with its first request. */
  #count(at: number): void {
    if (at - this.#spent.since >= this.#window) this.#spent = { since: at, requests: 0 }
    this.#spent.requests++
  }

  /** Reads what is there, and cuts off a last line that was not written whole: nobody relied on it. */
  #restore(file: number): void {
    const end = fstatSync(file).size
    const chunk = Buffer.allocUnsafe(1024 * 1024)
    let pending = Buffer.alloc(0)
    let at = 0
    while (at < end) {
      const read = readSync(file, chunk, 0, chunk.length, at)
      if (read === 0) break
      at += read
      const bytes = Buffer.concat([pending, chunk.subarray(0, read)])
      let from = 0
      for (let to = bytes.indexOf(newline); to !== -1; to = bytes.indexOf(newline, from)) {
        const line = readJournalLine(bytes.toString('utf8', from, to))
        if (line) this.#take(line, this.#size)
        this.#size += to + 1 - from
        from = to + 1
      }
      pending = bytes.subarray(from)
    }
    if (this.#size < end) ftruncateSync(file, this.#size)
  }
}

function lineAt(file: number, offset: number): string {
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

function guard<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw unwritable(path, cause)
  }
}

function unwritable(path: string, cause: unknown): Failure {
  return new Failure('storage', `The journal ${path} cannot be written: ${systemWords(cause)}`, {
    hint: 'Without it nothing more is sent. The same command goes on when it can be written.',
    cause,
  })
}
