import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { tryProcessLock } from '../../system/files/process-lock.ts'
import type { EntryTable } from './entry-table.ts'
import {
  type ExpectedState,
  identityOf,
  type LoadedState,
  load,
  loadConsistently,
  replayInto,
} from './load-state.ts'
import { keyOf, type StateEntry } from './state-entry.ts'
import { type StateFile, type StateHeader, writeStateFile } from './state-file.ts'
import { hasJournal, StateJournal } from './state-journal.ts'
import { targetOf } from './state-path.ts'

export interface StateOptions extends ExpectedState {
  /** `write` takes the lock. `read` also sees the changes of a running process. */
  access: 'read' | 'write'
  /** The name of the file in errors (default: its path). */
  name?: string
}

/**
 * The state file of users as code: the id of each user, and hashes of what was last sent. Changes are appended
 * to a journal beside the file. `close` writes the next generation of the file and removes the journal. If the
 * process is killed before that, the next one reads the journal.
 */
export class UsersState {
  /** Whether there was a state file or a journal. */
  readonly exists: boolean
  /** The number of the generation that was read. */
  readonly serial: number
  readonly #file: StateFile
  readonly #identity: string | undefined
  readonly #header: StateHeader
  readonly #table: EntryTable
  readonly #journal: StateJournal | undefined
  readonly #release: () => void
  /** The serial of the last generation before the next. */
  #least: number
  #isClosed = false
  /** Whether one of the two could not take a change: the journal is kept then. */
  #mayDiffer = false

  private constructor(
    file: StateFile,
    { identity, header, table, exists }: LoadedState,
    writing: { journal: StateJournal; release: () => void } | undefined,
  ) {
    this.#file = file
    this.#identity = identity
    this.#header = header
    this.#table = table
    this.exists = exists
    this.serial = header.serial
    this.#least = header.serial
    this.#journal = writing?.journal
    this.#release = writing?.release ?? (() => {})
  }

  /**
   * @throws Failure `refused` for invalid content; `conflict` for another service or version, or if another
   *   process holds the lock; `storage`
   */
  static async open(path: string, options: StateOptions): Promise<UsersState> {
    // Two links to one file must have one lock and one journal.
    const file = { path: targetOf(path), name: options.name ?? path }
    if (options.access === 'read')
      return new UsersState(file, await loadConsistently(file, options), undefined)
    const release = lock(file)
    try {
      const loaded = await load(file, options)
      return new UsersState(file, loaded, { journal: openJournal(file, loaded), release })
    } catch (error) {
      release()
      throw error
    }
  }

  get isWritable(): boolean {
    return this.#journal !== undefined
  }

  /** For errors. */
  get name(): string {
    return this.#file.name
  }

  /** Without case. */
  find(email: string): StateEntry | undefined {
    return this.#table.find(email)
  }

  findById(id: string): StateEntry | undefined {
    return this.#table.findById(id)
  }

  /** Sorted by email, without those of forgotten users. Entries may be changed meanwhile. */
  *entries(): IterableIterator<StateEntry> {
    for (const entry of this.allEntries()) if (entry.creation !== 'forgotten') yield entry
  }

  /** Sorted by email. */
  allEntries(): IterableIterator<StateEntry> {
    return this.#table.entries('all')
  }

  /** Marks an email of the files of this run. It need not have an entry yet. */
  markWanted(email: string): void {
    this.#table.markWanted(email)
  }

  /** The entries that were not marked, sorted by email, without those of forgotten users. */
  *unmanaged(): IterableIterator<StateEntry> {
    for (const entry of this.#table.entries('unwanted')) if (entry.creation !== 'forgotten') yield entry
  }

  /**
   * Chooses the marked users that were never checked, then the least recently checked. Call it when all
   * are marked.
   *
   * @returns whether the user with an email was chosen
   */
  leastRecentlyChecked(limit: number): (email: string) => boolean {
    return this.#table.chooseLongestUnchecked(limit)
  }

  /** Writes ahead: resolves when the entry is on disk. @throws Failure `storage`; the entry is as before then */
  async record(entry: StateEntry): Promise<void> {
    const before = this.find(entry.email)
    this.note(entry)
    try {
      await this.#writable.flush()
    } catch (error) {
      if (before) this.note(before)
      else this.remove(entry.email)
      throw error
    }
  }

  /**
   * Records an outcome. It survives the process after this turn of the event loop, and the machine after the next
   * `record`. An id belongs to one user: another entry with the same id is removed.
   *
   * @throws Failure `storage`
   */
  note(entry: StateEntry): void {
    const journal = this.#writable
    if (this.#table.contains(entry)) return
    // In this order, an entry that cannot be kept has no intent in the journal.
    this.#apply(() => {
      this.#table.put(entry)
      journal.append(entry)
    })
  }

  /** Makes the next generation newer than one of another file, too. */
  follow(serial: number): void {
    this.#least = Math.max(this.#least, serial)
  }

  /** Removes the entry of an email, if it exists. @throws Failure `storage` */
  remove(email: string): void {
    const journal = this.#writable
    this.#apply(() => {
      this.#table.remove(email)
      journal.append({ removed: keyOf(email) })
    })
  }

  /** Whether a plan was applied with this file, or with another generation of it. */
  hasApplied(plan: string): boolean {
    const path = this.#appliedPath
    return existsSync(path) && readFileSync(path, 'utf8').split('\n').includes(plan)
  }

  /** @throws Failure `storage` */
  noteApplied(plan: string): void {
    try {
      appendFileSync(this.#appliedPath, `${plan}\n`, { mode: 0o600 })
    } catch (cause) {
      throw unwritable(this.#file, cause)
    }
  }

  get #appliedPath(): string {
    return `${this.#file.path}.applied`
  }

  /**
   * Writes the next generation if an entry has changed, and keeps the previous one as a backup. If another
   * program has replaced the file meanwhile, such as Git, the two are combined.
   *
   * @throws Failure `storage`, or `refused` if the new file is invalid; the journal remains then, so nothing
   *   is lost
   */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const journal = this.#mayDiffer ? undefined : this.#journal
    const isChanged =
      (journal !== undefined && !journal.isEmpty && this.#table.isChanged) || this.#least > this.serial
    const isReplaced = isChanged && identityOf(this.#file) !== this.#identity
    try {
      if (isChanged && !isReplaced) await this.#writeNextGeneration()
      if (!isReplaced) journal?.remove()
    } finally {
      try {
        this.#journal?.close()
      } finally {
        this.#table.close()
        this.#release()
      }
    }
    if (isReplaced) await this.#combine().catch(this.#nameJournal)
  }

  #writeNextGeneration(): Promise<void> {
    const next = { ...this.#header, serial: this.#least + 1 }
    return writeStateFile(this.#file, next, this.#table.bodies('all')).catch(this.#nameJournal)
  }

  /** Reads the file again, and the journal into it. */
  async #combine(): Promise<void> {
    const { path, name } = this.#file
    const { service } = this.#header
    const { signal } = new AbortController()
    const combined = await UsersState.open(path, { service, signal, access: 'write', name })
    await combined.close()
  }

  #nameJournal = (error: unknown): never => {
    if (!(error instanceof Failure)) throw error
    const hint = this.#journal?.isBroken
      ? 'The journal beside the file could not be flushed to disk, so the changes of this run may be lost. Check the disk.'
      : 'No change is lost: the journal beside the file has them, and the next command reads it.'
    throw error.reworded(error.message, { hint })
  }

  #apply(change: () => void): void {
    try {
      change()
    } catch (error) {
      this.#mayDiffer = true
      throw error
    }
  }

  get #writable(): StateJournal {
    if (this.#journal === undefined) throw new Error('The state was opened for reading')
    return this.#journal
  }
}

function openJournal(file: StateFile, loaded: LoadedState): StateJournal {
  const journal = new StateJournal(file, loaded.header)
  try {
    if (hasJournal(file)) journal.restore(replayInto(loaded))
    return journal
  } catch (error) {
    journal.close()
    loaded.table.close()
    throw error
  }
}

/** @throws Failure `conflict` if another process holds the lock; `storage` */
function lock(file: StateFile): () => void {
  const { path, name } = file
  let release: (() => void) | undefined
  try {
    release = tryProcessLock(`${path}.lock`)
  } catch (cause) {
    throw unwritable(file, cause)
  }
  if (release) return release
  throw new Failure('conflict', `Another chatctl process is using ${name}`, {
    hint: 'Wait until it ends. Then run the same command again.',
  })
}

function unwritable({ name }: StateFile, cause: unknown): Failure {
  return new Failure('storage', `Cannot write ${name}: ${describeSystemError(cause)}`, {
    hint: 'chatctl also creates a lock, a journal, a backup, and a list of applied plans in this directory.',
    cause,
  })
}
