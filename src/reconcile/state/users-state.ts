import { existsSync, statSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { tryProcessLock } from '../../system/process-lock.ts'
import { EntryTable, type Repeated } from './entry-table.ts'
import { keyOf, type StateEntry } from './state-entry.ts'
import {
  assertNotDeleted,
  invalid,
  readStateFile,
  type StateFile,
  type StateHeader,
  writeStateFile,
} from './state-file.ts'
import { hasJournal, otherService, readJournal, type StateChange, StateJournal } from './state-journal.ts'
import { targetOf } from './state-path.ts'

export interface StateOptions {
  /** The service that the users belong to. */
  service: string
  signal: AbortSignal
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
  readonly #header: StateHeader
  readonly #table: EntryTable
  readonly #journal: StateJournal | undefined
  readonly #release: () => void
  #isClosed = false
  /** Whether the journal has a change that the table could not take. */
  #isBehind = false

  private constructor(
    file: StateFile,
    { header, table, exists }: LoadedState,
    writing: { journal: StateJournal; release: () => void } | undefined,
  ) {
    this.#file = file
    this.#header = header
    this.#table = table
    this.exists = exists
    this.serial = header.serial
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

  /** Without case. */
  find(email: string): StateEntry | undefined {
    return this.#table.find(email)
  }

  findById(id: string): StateEntry | undefined {
    return this.#table.findById(id)
  }

  /** Sorted by email. Entries may be changed meanwhile. */
  entries(): IterableIterator<StateEntry> {
    return this.#table.entries('all')
  }

  /** Marks an email of the files of this run. It need not have an entry yet. */
  markWanted(email: string): void {
    this.#table.markWanted(email)
  }

  /** The entries that were not marked, sorted by email. */
  unmanaged(): IterableIterator<StateEntry> {
    return this.#table.entries('unwanted')
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

  /** Writes ahead: resolves when the entry is on disk. @throws Failure `storage` */
  record(entry: StateEntry): Promise<void> {
    this.note(entry)
    return this.#writable.flush()
  }

  /**
   * Records an outcome. It survives the process at once, and the machine after the next `record`. An id belongs
   * to one user: another entry with the same id is removed.
   *
   * @throws Failure `storage`
   */
  note(entry: StateEntry): void {
    const journal = this.#writable
    if (this.#table.contains(entry)) return
    journal.append(entry)
    this.#apply(() => this.#table.put(entry))
  }

  /** Removes the entry of an email, if it exists. @throws Failure `storage` */
  remove(email: string): void {
    this.#writable.append({ removed: keyOf(email) })
    this.#apply(() => this.#table.remove(email))
  }

  /**
   * Writes the next generation if an entry has changed, and keeps the previous one as a backup.
   *
   * @throws Failure `storage`; the journal remains then, so nothing is lost
   */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    try {
      if (this.#journal === undefined || this.#isBehind) return
      if (!this.#journal.isEmpty && this.#table.isChanged) {
        const next = { ...this.#header, serial: this.serial + 1 }
        await writeStateFile(this.#file, next, this.#table.bodies('all')).catch(nameJournal)
      }
      this.#journal.remove()
    } finally {
      this.#journal?.close()
      this.#table.close()
      this.#release()
    }
  }

  #apply(change: () => void): void {
    try {
      change()
    } catch (error) {
      this.#isBehind = true
      throw error
    }
  }

  get #writable(): StateJournal {
    if (this.#journal === undefined) throw new Error('The state was opened for reading')
    return this.#journal
  }
}

function nameJournal(error: unknown): never {
  if (!(error instanceof Failure)) throw error
  const hint = 'No change is lost: the journal beside the file has them, and the next command reads it.'
  throw error.reworded(error.message, { hint })
}

interface LoadedState {
  header: StateHeader
  table: EntryTable
  exists: boolean
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

/**
 * Reads the file and the journal without the lock. A process that ends replaces the file and then removes the
 * journal, so both are read again if the file was replaced meanwhile.
 */
async function loadConsistently(file: StateFile, options: StateOptions): Promise<LoadedState> {
  for (;;) {
    const before = identityOf(file)
    const loaded = await load(file, options)
    try {
      readJournal(file, options.service, replayInto(loaded))
    } catch (error) {
      loaded.table.close()
      throw error
    }
    if (identityOf(file) === before) return loaded
    loaded.table.close()
  }
}

function identityOf({ path }: StateFile): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.ino} ${stats.mtimeNs}`
}

async function load(file: StateFile, { service, signal }: StateOptions): Promise<LoadedState> {
  assertNotDeleted(file)
  const table = new EntryTable()
  try {
    const hasFile = existsSync(file.path)
    const header = hasFile ? await readInto(table, file, signal) : { service, serial: 0 }
    if (header.service !== service) throw otherService(file.name, header.service, service)
    return { header: { service, serial: header.serial }, table, exists: hasFile }
  } catch (error) {
    table.close()
    throw error
  }
}

/** @throws Failure `refused` if two entries have the same email or id */
async function readInto(table: EntryTable, file: StateFile, signal: AbortSignal): Promise<StateHeader> {
  const header = await readStateFile(file, signal, (entry, line) => {
    const repeated = table.load(entry, line)
    if (repeated !== undefined) throw repeatedIn(file, repeated)
  })
  const repeated = table.endLoading()
  if (repeated !== undefined) throw repeatedIn(file, repeated)
  return header
}

function repeatedIn(file: StateFile, { line, earlier, ...value }: Repeated): Failure {
  const where = `is also on line ${earlier}`
  if ('email' in value)
    return invalid(file, line, `${JSON.stringify(value.email)} ${where}`, 'Keep one of the two.')
  const hint = 'Keep the one with the email that the service reports for this id.'
  return invalid(file, line, `the id ${JSON.stringify(value.id)} ${where}, with another email`, hint)
}

/**
 * A journal usually continues the file beside it. If the file was replaced, for example by that of another
 * branch, neither is known to be newer: then no user is lost, and only hashes on which both agree are kept.
 */
function replayInto(loaded: LoadedState): (change: StateChange, serial: number) => void {
  const { table, header } = loaded
  return (change, serial) => {
    loaded.exists = true
    const isContinued = serial === header.serial
    if ('removed' in change) {
      if (isContinued || table.original(change.removed)?.id === undefined) table.remove(change.removed)
      return
    }
    const found = isContinued ? undefined : table.original(change.email)
    table.put(found === undefined ? change : agreed(found, change))
  }
}

function agreed(found: StateEntry, change: StateEntry): StateEntry {
  const hashes = Object.entries(change.hashes).filter(([path, hash]) => found.hashes[path] === hash)
  return { ...(found.id === undefined ? change : found), hashes: Object.fromEntries(hashes) }
}

/** @throws Failure `conflict` if another process holds the lock; `storage` */
function lock({ path, name }: StateFile): () => void {
  let release: (() => void) | undefined
  try {
    release = tryProcessLock(`${path}.lock`)
  } catch (cause) {
    throw new Failure('storage', `Cannot write ${name}: ${describeSystemError(cause)}`, {
      hint: 'chatctl also creates a lock, a journal, and a backup in this directory.',
      cause,
    })
  }
  if (release) return release
  throw new Failure('conflict', `Another chatctl process is using ${name}`, {
    hint: 'Wait until it ends. Then run the same command again.',
  })
}
