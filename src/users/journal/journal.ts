import { existsSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { LineLog } from '../../system/files/line-log.ts'
import { RowSet } from '../input/row-set.ts'
import { UniqueValues } from '../input/unique-values.ts'
import type { Step } from '../rows/imported-user.ts'
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

export interface JournalOptions {
  path: string
  header: JournalHeader
  /** For the times of appended lines (default: the system's). */
  clock?: Clock
  /** Ignores an existing journal. */
  restart?: boolean
  /** Files that earlier journals of the input have recorded. */
  files?: readonly FileLine[] | undefined
  /** Called before the file of a new journal is created. Earlier journals must remain until then. */
  onBegin?(): void
  /** Releases the lock of the path, which the caller holds. */
  release(): void
}

/**
 * The append-only log from which an import resumes. An intent is on disk before its request is sent. An
 * outcome is written in the turn of the event loop in which it is known, and flushed to disk with the next
 * intent. So a crash of the machine can lose only outcomes: then the outcome of the row is unknown, and the
 * row is not sent twice.
 */
export class Journal {
  readonly rows: RowStates
  readonly #path: string
  readonly #header: JournalHeader
  readonly #clock: Clock
  readonly #onBegin: (() => void) | undefined
  readonly #release: () => void
  #log: LineLog
  readonly #files = new Map<FileLine['type'], FileLine>()
  readonly #requested = new RowSet()
  readonly #createdIds = new UniqueValues()
  readonly #adopted = new Map<number, StepLine>()
  #isFinished = false
  /** After a finished run that created no user, a new journal begins: that of a daily job would only grow. */
  #isObsolete = false

  private constructor(opening: JournalOptions) {
    this.#path = opening.path
    this.#header = opening.header
    this.#clock = opening.clock ?? systemClock
    this.rows = new RowStates(opening.header.input.rows)
    this.#onBegin = opening.onBegin
    this.#release = opening.release
    this.#log = this.#createLog()
    for (const file of opening.files ?? []) this.#files.set(file.type, file)
  }

  /**
   * Opens an existing journal, or begins one.
   *
   * @throws Failure `storage`
   */
  static open(opening: JournalOptions): Journal {
    const journal = new Journal(opening)
    if (opening.restart !== true && existsSync(opening.path)) journal.#restore()
    return journal
  }

  /** The last recorded file of this type. */
  fileOf(type: FileLine['type']): FileLine | undefined {
    return this.#files.get(type)
  }

  /** The last line of a row, with its id and error. */
  lastLine(row: number): StepLine | undefined {
    const offset = this.rows.offsetOf(row)
    if (offset === 0) return this.#adopted.get(row)
    const text = this.#log.lineAt(offset)
    const line = text === undefined ? undefined : readJournalLine(text)
    return line && 'row' in line ? line : undefined
  }

  /** The last recorded file of each type. */
  get files(): readonly FileLine[] {
    return [...this.#files.values()]
  }

  /** Whether this run has sent a request for the row. */
  wasRequested(row: number): boolean {
    return this.#requested.has(row)
  }

  /** The row whose create, by this import or others, has the ID in its response. */
  rowOfCreated(id: string): number | undefined {
    return this.#createdIds.findTaken({ id })[0]?.line
  }

  /**
   * Resolves when the intent is on disk. The request must not be sent earlier.
   *
   * @param key of the row's content
   */
  async recordIntent(row: number, step: Step, id: string | undefined, key: string): Promise<void> {
    this.#append({ row, step, at: this.#clock.now(), key, ...(id !== undefined && { id }) })
    await this.sync()
    this.#requested.add(row)
  }

  /** Takes a line about a user that others have created. It is not written, so that it does not outlive its source. */
  adopt(line: StepLine): void {
    this.rows.apply(line, 0, false)
    this.#claim(line)
    this.#adopted.set(line.row, line)
  }

  /** Marks the import as ended until something is sent again. Has no effect on an empty journal. */
  end(type: EndLine['type']): void {
    if (this.#log.size === 0 || (type === 'finished' && this.#isFinished)) return
    this.#append({ type, at: new Date(this.#clock.now()).toISOString() })
  }

  /**
   * Records the outcome of a step, or a line of an earlier journal. It survives the process after this turn of the
   * event loop, and the machine after the next `sync`.
   */
  record(line: StepLine): void {
    this.#append(line)
  }

  noteWindow(window: Omit<WindowLine, 'type'>): void {
    this.#append({ type: 'window', ...window })
  }

  noteFile(line: FileLine): void {
    const last = this.#files.get(line.type)
    if (last?.path !== line.path || last.mark !== line.mark) this.#append(line)
  }

  /** Resolves when all lines are on disk. */
  sync(): Promise<void> {
    return this.#log.flush()
  }

  async close(): Promise<void> {
    try {
      await this.sync()
    } finally {
      this.closeWithoutSync()
    }
  }

  /** Closes the journal without flushing, after reading only. */
  closeWithoutSync(): void {
    try {
      this.#log.close()
    } finally {
      this.#release()
    }
  }

  /** The header is written with the first line, so that a run that sends nothing leaves no journal. */
  #append(line: JournalLine): void {
    if ('row' in line && this.#isObsolete) this.#startOver()
    if (this.#log.size === 0 && line !== this.#header) {
      const files = this.files
      this.#append(this.#header)
      for (const file of files) this.#append(file)
    }
    const offset = this.#log.size
    this.#log.append(JSON.stringify(line))
    this.#apply(line, offset)
  }

  #startOver(): void {
    this.#log.close()
    this.#log = this.#createLog()
    this.#isFinished = this.#isObsolete = false
  }

  #createLog(): LineLog {
    return new LineLog({
      path: this.#path,
      failureOf: (cause) => unwritable(this.#path, cause),
      onBegin: () => this.#onBegin?.(),
    })
  }

  #apply(line: JournalLine, offset: number): void {
    if ('row' in line) {
      this.rows.apply(line, offset)
      this.#isFinished = this.#isObsolete = false
      this.#claim(line)
    } else if (line.type === 'finished') {
      this.rows.forgetUpdates()
      this.#isFinished = true
      this.#isObsolete = this.rows.isUntouched
    } else if (line.type !== 'import' && 'path' in line) this.#files.set(line.type, line)
  }

  #claim({ row, step, id }: StepLine): void {
    if (step === 'create' && id !== undefined) this.#createdIds.claim({ id }, row)
  }

  #restore(): void {
    this.#log.restore((text, offset) => {
      const line = readJournalLine(text)
      if (line) this.#apply(line, offset)
    })
  }
}

function unwritable(path: string, cause: unknown): Failure {
  return new Failure('storage', `Cannot write the journal ${path}: ${describeSystemError(cause)}`, {
    hint: 'chatctl sends nothing without the journal. To resume, make it writable and run the same command.',
    cause,
  })
}
