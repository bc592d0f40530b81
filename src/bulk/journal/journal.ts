import { existsSync, readFileSync, rmSync } from 'node:fs'
import type { Failure } from '../../contract/failure.ts'
import { tryParse } from '../../contract/notation/exact-json.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { LineLog } from '../../system/files/line-log.ts'

/**
 * A kind of request. A `create` makes something at the service that a second request would make again. The others
 * have the same result if they are sent twice.
 */
export type Step = 'create' | 'update' | 'assign'

/** The first line of each run. */
export interface JournalHeader {
  type: 'import'
  kind: string
  /** Base URL of the service. */
  service: string
  /** Path of the input; `stdin` for a pipe. */
  file: string
  rows: number
  /** Begun with `restart`: users that others have created are created again. */
  restarted: boolean
  /** ISO 8601 UTC. */
  at: string
}

/** Without `did`, the intent to send a step; with it, the outcome. `removed`: the row was refused, and then edited. */
export interface StepLine {
  /** `rowKey` of the row, by which it is found after the file has changed. */
  key: string
  step: Step
  did?: StepOutcome | 'removed'
  /** User ID; in every line after it is known, except if it belongs to another user. */
  id?: string
  error?: string
}

/** A file that the run has written: results, generated passwords, failed rows, or rows whose outcome is unknown. */
export interface FileLine {
  type: 'results' | 'passwords' | 'failed_rows' | 'unknown_rows'
  path: string
  /** Size and modification time after writing. If they differ, another program has changed the file. */
  mark?: string
}

/**
 * `finished`: every row has a known outcome. The next run sends the rows with an id again, but not those that created
 * a user. `closed`: the user gave up the import; a later run of the same file resumes it.
 */
export interface EndLine {
  type: 'finished' | 'closed'
}

type JournalLine = JournalHeader | StepLine | FileLine | EndLine

/** What a journal says. */
export class JournalContent {
  header: JournalHeader | undefined
  readonly states = new Map<string, RowState>()
  readonly files = new Map<FileLine['type'], FileLine>()
  /** Undefined if something was sent after the end. */
  ended: EndLine['type'] | undefined

  /** Whether the import was begun with `restart`, and has not been finished since. */
  get isRestarting(): boolean {
    return this.header?.restarted === true && this.ended !== 'finished'
  }

  /** Ignores a line that a crash of the system has left incomplete. */
  take(text: string): void {
    const line = tryParse(text) as JournalLine | undefined
    if (line) this.apply(line)
  }

  apply(line: JournalLine): void {
    if ('key' in line) this.#applyStep(line)
    else if (line.type === 'import') this.header = line
    else if ('path' in line) this.files.set(line.type, line)
    else if (line.type === 'closed') this.ended = line.type
    else if (line.type === 'finished') {
      this.ended = line.type
      for (const [key, { isCreator }] of this.states) if (!isCreator) this.states.delete(key)
    }
  }

  #applyStep({ key, step, did, id, error }: StepLine): void {
    this.ended = undefined
    if (did === 'removed') this.states.delete(key)
    else {
      const before = this.states.get(key)
      const isCreator = step === 'create' || before?.isCreator === true
      const isCurrent = before?.isCurrent === true
      this.states.set(key, { step, phase: did ?? 'intended', id, error, isCreator, isOwn: true, isCurrent })
    }
  }
}

/** Reads a journal that another process may be writing. */
export function readJournal(path: string): JournalContent {
  const content = new JournalContent()
  for (const text of readFileSync(path, 'utf8').split('\n').slice(0, -1)) content.take(text)
  return content
}

interface JournalOptions {
  path: string
  header: JournalHeader
  /** Ignores an existing journal, and replaces it when something is sent. */
  restart: boolean
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
  readonly content = new JournalContent()
  readonly #options: JournalOptions
  readonly #dropped = new Set<string>()
  /** Of the users that were created, by this import or others: the rows by user ID. */
  readonly #rowOfId = new Map<string, string>()
  #log: LineLog
  #hasHeader = false

  /** @throws Failure `storage` */
  constructor(options: JournalOptions) {
    this.#options = options
    this.#log = this.#createLog()
    const { path, restart } = options
    if (restart || !existsSync(path)) return
    this.#log.restore((text) => this.content.take(text))
    if (this.content.ended === 'finished' && this.content.states.size === 0) {
      // A finished run that created no user leaves nothing to know: the journal of a daily job would only grow.
      this.content.header = undefined
      this.content.ended = undefined
      this.#log.close()
      this.#log = this.#createLog()
    }
    for (const [key, state] of this.content.states) this.#claim(key, state)
  }

  /** Whether this run has sent a request for the row. */
  wasRequested(key: string): boolean {
    return this.content.states.get(key)?.isCurrent === true
  }

  /** The row whose create, by this import or others, has the ID in its response. */
  rowOfCreated(id: string): string | undefined {
    return this.#rowOfId.get(id)
  }

  /** Resolves when the intent is on disk. The request must not be sent earlier. */
  async recordIntent(line: StepLine): Promise<void> {
    this.record(line)
    await this.#log.flush()
    const state = this.content.states.get(line.key)
    if (state) state.isCurrent = true
  }

  /**
   * Records the outcome of a step. It survives the process after this turn of the event loop, and the machine
   * after the next intent.
   */
  record(line: StepLine): void {
    for (const key of this.#dropped) this.#append({ key, step: 'create', did: 'removed' })
    this.#dropped.clear()
    this.#append(line)
    const state = this.content.states.get(line.key)
    if (state) this.#claim(line.key, state)
  }

  /** Takes a state that others have recorded. It is not written, so that it does not outlive its source. */
  adopt(key: string, state: RowState): void {
    this.content.states.set(key, state)
    this.#claim(key, state)
  }

  /** Forgets a row that is no longer in the file, when something is sent. */
  drop(key: string): void {
    this.content.states.delete(key)
    this.#dropped.add(key)
  }

  /** Marks the import as ended until something is sent again. Has no effect on an empty journal. */
  end(type: EndLine['type']): void {
    if (this.#log.size > 0 && !(type === 'finished' && this.content.ended === type)) this.#append({ type })
  }

  noteFile(line: FileLine): void {
    const last = this.content.files.get(line.type)
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
      try {
        this.#log.close()
      } finally {
        this.#options.release()
      }
    }
  }

  /** The header is written with the first line, so that a run that sends nothing leaves no journal. */
  #append(line: JournalLine): void {
    const isNew = this.#log.size === 0
    if (isNew || ('key' in line && !this.#hasHeader)) {
      this.#hasHeader = true
      const { header } = this.#options
      const restarted = header.restarted || this.content.isRestarting
      this.#log.append(JSON.stringify({ ...header, restarted }))
      if (isNew) for (const file of this.content.files.values()) this.#log.append(JSON.stringify(file))
    }
    this.#log.append(JSON.stringify(line))
    this.content.apply(line)
  }

  #createLog(): LineLog {
    const { path } = this.#options
    return new LineLog({
      path,
      failureOf: (cause) => unwritable(path, cause),
      onBegin: () => rmSync(path, { force: true }),
    })
  }

  #claim(key: string, { id, isCreator, isOwn }: RowState): void {
    const isCreated = id !== undefined && (isCreator || !isOwn)
    if (isCreated && !this.#rowOfId.has(id)) this.#rowOfId.set(id, key)
  }
}

function unwritable(path: string, cause: unknown): Failure {
  const hint = 'chatctl sends nothing without it. To resume, make it writable and run the same command.'
  return systemFailure(`Cannot write the journal ${path}`, cause, hint)
}

/**
 * The outcome of a step. `took`: it succeeded. `unsent`: it certainly was not done and can be sent again, for
 * example after a 429. `nameless`: the user was created, but the next step needs the id, which the response
 * did not contain. `skipped`: on request of the user. `differs`: it succeeded according to its status, but the
 * response shows other values, or another user.
 */
export type StepOutcome = 'took' | 'refused' | 'unknown' | 'unsent' | 'nameless' | 'skipped' | 'differs'

/** The last step of a row, and its outcome. */
export interface RowState {
  step: Step
  /** `intended`: the request may have been sent, and no outcome is recorded. */
  phase: StepOutcome | 'intended'
  /** Of the user. Undefined if it is not known, or belongs to another user. */
  id: string | undefined
  /** Why the step was refused, or why its outcome is unknown. */
  error: string | undefined
  /** Whether this import has sent the create of the row. */
  isCreator: boolean
  /** False if another import or command sent the step. */
  isOwn: boolean
  /** Whether this run has sent a request for the row. */
  isCurrent: boolean
}

/** By `rowKey`. */
export type RowStates = ReadonlyMap<string, RowState>

/** Whether a row was, or may have been, changed or created. */
export function mayHaveChanged(state: RowState | undefined): boolean {
  if (state === undefined) return false
  // A refused step after a create leaves the user that was created.
  const isAfterCreate = state.step !== 'create' && state.isCreator
  return isAfterCreate || (state.phase !== 'refused' && state.phase !== 'unsent')
}

/** Whether the outcome of a create is unknown, so that the user must resolve it. */
export function isUnresolved(state: RowState | undefined): boolean {
  if (state?.step !== 'create') return false
  return state.phase === 'unknown' || state.phase === 'intended' || state.phase === 'nameless'
}
