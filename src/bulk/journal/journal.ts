import { closeSync, existsSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { syncDirectory } from '../../system/replace-file.ts'
import { RowSet } from '../input/row-set.ts'
import type { Step } from '../rows/user-row.ts'
import { FlushQueue, readLineAt, readWholeLines } from './journal-file.ts'
import {
  type EndLine,
  type FileLine,
  type JournalHeader,
  type JournalLine,
  readJournalLine,
  type StepLine,
  type WindowLine,
} from './journal-line.ts'
import { RowStates } from './row-states.ts'

export interface JournalOpening {
  path: string
  header: JournalHeader
  /** Of what is appended (default: the system's). */
  clock?: Clock
  /** Passes over the one that is there. */
  restart?: boolean
  /** What earlier journals of the file have written. */
  files?: readonly FileLine[] | undefined
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
  readonly #clock: Clock
  readonly #onBegin: (() => void) | undefined
  readonly #release: () => void
  #file: number | undefined
  #size = 0
  readonly #queue = new FlushQueue(
    () => this.#file,
    (cause) => unwritable(this.#path, cause),
  )
  readonly #files = new Map<FileLine['type'], FileLine>()
  readonly #requested = new RowSet()
  #isFinished = false

  private constructor(opening: JournalOpening) {
    this.#path = opening.path
    this.#header = opening.header
    this.#clock = opening.clock ?? systemClock
    this.rows = new RowStates(opening.header.input.rows)
    this.#onBegin = opening.onBegin
    this.#release = opening.release
    for (const file of opening.files ?? []) this.#files.set(file.type, file)
  }

  /**
   * Begins one, or resumes the one that is there.
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

  /** The last that was written of a row: its id and error. */
  lastLine(row: number): StepLine | undefined {
    const offset = this.rows.offsetOf(row)
    if (offset === 0 || this.#file === undefined) return undefined
    const line = readJournalLine(readLineAt(this.#file, offset))
    return line && 'row' in line ? line : undefined
  }

  /** What the import has written: see `fileOf`. */
  get files(): readonly FileLine[] {
    return [...this.#files.values()]
  }

  /** Whether this run, rather than an earlier one, has sent a request for the row. */
  wasRequested(row: number): boolean {
    return this.#requested.has(row)
  }

  /**
   * Resolves when the intent is on disk: only then may the request leave.
   * @param key of the row's content
   */
  intend(row: number, step: Step, id: string | undefined, key: string): Promise<void> {
    this.#append({ row, step, at: this.#clock.now(), key, ...(id !== undefined && { id }) })
    this.#requested.add(row)
    return this.sync()
  }

  /** Takes over what the journal of an earlier content of the file has of a row. */
  carryOver(line: StepLine): void {
    this.#append(line)
  }

  /** Ends the journal until something is sent again. A run that has sent nothing has none to end. */
  end(type: EndLine['type']): void {
    if (this.#size === 0 || (type === 'finished' && this.#isFinished)) return
    this.#append({ type, at: new Date(this.#clock.now()).toISOString() })
  }

  /** What became of a step. It outlasts the process at once, the machine with the next `sync`. */
  record(line: StepLine & { did: NonNullable<StepLine['did']> }): void {
    this.#append(line)
  }

  noteWindow(window: Omit<WindowLine, 'type'>): void {
    this.#append({ type: 'window', ...window })
  }

  noteFile(line: FileLine): void {
    const last = this.#files.get(line.type)
    if (last?.path !== line.path || last.mark !== line.mark) this.#append(line)
  }

  /** Resolves when all that was written is on disk. */
  sync(): Promise<void> {
    return this.#queue.flush()
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
    this.#closeFile()
    this.#release()
  }

  /** The header comes with the first line after it: a run that sends nothing leaves no journal. */
  #append(line: JournalLine): void {
    if ('row' in line && this.#isOver) this.#startOver()
    if (this.#size === 0 && line !== this.#header) {
      const files = this.files
      this.#append(this.#header)
      for (const file of files) this.#append(file)
    }
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    guard(this.#path, () => this.#write(this.#file ?? this.#begin(), bytes))
    this.#take(line, this.#size)
    this.#size += bytes.length
  }

  /** Nothing of a finished run is needed where no user was created: a job that runs daily would add up. */
  get #isOver(): boolean {
    return this.#isFinished && this.rows.isUntouched
  }

  #startOver(): void {
    this.#closeFile()
    this.#size = 0
    this.#isFinished = false
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #begin(): number {
    this.#onBegin?.()
    const file = this.#openFile()
    syncDirectory(dirname(this.#path))
    return file
  }

  #openFile(): number {
    this.#file = openSync(this.#path, 'a+', 0o600)
    return this.#file
  }

  /** All of it or nothing: what comes next would be added to half a line. */
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
      this.#isFinished = false
    } else if (line.type === 'finished') {
      this.rows.forgetUpdates()
      this.#isFinished = true
    } else if (line.type !== 'import' && 'path' in line) this.#files.set(line.type, line)
  }

  /** Reads what is there, and cuts off a last line that was not written whole: nobody relied on it. */
  #restore(file: number): void {
    const { whole, end } = readWholeLines(file, (text, offset) => {
      const line = readJournalLine(text)
      if (line) this.#take(line, offset)
    })
    this.#size = whole
    if (whole < end) ftruncateSync(file, whole)
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
  return new Failure('storage', `Cannot write the journal ${path}: ${describeSystemError(cause)}`, {
    hint: 'chatctl sends nothing without the journal. To resume, make it writable and run the same command.',
    cause,
  })
}
