import { existsSync, readFileSync } from 'node:fs'
import { join, parse, resolve } from 'node:path'
import { systemFailure } from '../../system/describe-system-error.ts'
import { LineLog } from '../../system/files/line-log.ts'
import { identityOf } from '../../system/files/process-lock.ts'
import { combined, EntryMap, formatEntry, keyOf, type StateEntry } from './state-entry.ts'
import {
  assertNotDeleted,
  lock,
  otherService,
  readStateFile,
  type StateFile,
  type StateHeader,
  targetOf,
  writeStateFile,
} from './state-file.ts'
import {
  headerLine,
  journalOf,
  namingJournal,
  readJournalLine,
  type StateChange,
  unwritableJournal,
} from './state-journal.ts'

export interface StateOptions {
  /** The service that the users belong to. */
  service: string
  /** `write` takes the lock. `read` also sees the changes of a running process. */
  access: 'read' | 'write'
  /** The name of the file in errors (default: its path). */
  name?: string
}

/** The name of the state file in the working directory, for commands without a file of users. */
export const defaultStateName = 'users.state.json'

/** The default name of the state file: beside the first file, `users.state.json` for `users.yaml`; `-` is stdin. */
export function stateNameFor(file: string): string {
  if (file === '-') return defaultStateName
  const { dir, name } = parse(file)
  return join(dir, `${name}.state.json`)
}

/**
 * The state file of users as code: the id of each user, and hashes of what was last sent. Changes are appended
 * to a journal beside the file. `close` writes the next generation of the file and removes the journal. If the
 * process is killed before that, the next one reads the journal.
 */
export class UsersState {
  /** Whether there was a state file or a journal. */
  exists = false
  /** Names the generation that was read, or that `close` has written. Undefined if there is none. */
  digest: string | undefined
  readonly #file: StateFile
  #header: StateHeader
  readonly #identity: string | undefined
  readonly #entries: EntryMap
  /** As they are in the file. */
  readonly #loaded: ReadonlyMap<string, StateEntry>
  /** Undefined if the state is only read. */
  #log: LineLog | undefined
  #release: (() => void) | undefined
  /** The generation that the last lines of the journal continue. */
  #journalSerial: number | undefined
  /** The serial of the last generation before the next. */
  #least: number

  private constructor(file: StateFile, { service }: StateOptions) {
    this.#file = file
    assertNotDeleted(file)
    this.#identity = identityOf(file.path)
    this.exists = this.#identity !== undefined
    const { header, entries, digest } = this.exists
      ? readStateFile(file)
      : { header: { service, serial: 0 }, entries: new EntryMap(), digest: undefined }
    if (header.service !== service) throw otherService(file.name, header.service, service)
    this.#header = header
    this.digest = digest
    this.#least = header.serial
    this.#entries = entries
    this.#loaded = new Map(this.#entries.byKey)
  }

  /**
   * @throws Failure `refused` for invalid content; `conflict` for another service or version, or if another
   *   process holds the lock; `storage`
   */
  static async open(path: string, options: StateOptions): Promise<UsersState> {
    // Two links to one file must have one lock and one journal.
    const file = { path: targetOf(path), name: options.name ?? path }
    const release = options.access === 'write' ? lock(file) : undefined
    try {
      for (;;) {
        const state = new UsersState(file, options)
        state.#openJournal(release)
        // Without the lock, a process may have written the next generation before its journal was read.
        if (release || identityOf(file.path) === state.#identity) return state
      }
    } catch (error) {
      release?.()
      throw error
    }
  }

  #openJournal(release: (() => void) | undefined): void {
    const { path, name } = journalOf(this.#file)
    if (release === undefined) {
      const lines = readIfExists(path, name).split('\n')
      for (const [index, text] of lines.slice(0, -1).entries()) this.#replay(text, index + 1)
      return
    }
    const log = new LineLog({ path, failureOf: (cause) => unwritableJournal(name, cause) })
    try {
      let line = 0
      if (existsSync(path)) log.restore((text) => this.#replay(text, ++line))
    } catch (error) {
      log.close()
      throw error
    }
    this.#log = log
    this.#release = release
  }

  /**
   * A journal usually continues the file beside it. If the file was replaced, for example by that of another
   * branch, neither is known to be newer: then no user is lost, and only hashes on which both agree are kept.
   */
  #replay(text: string, line: number): void {
    const change = readJournalLine(journalOf(this.#file), text, line)
    if ('format' in change) {
      const { service, serial } = change
      if (service !== this.#header.service)
        throw otherService(journalOf(this.#file).name, service, this.#header.service)
      this.#journalSerial = serial
      return
    }
    this.exists = true
    const isContinued = this.#journalSerial === this.serial
    if ('removed' in change) {
      const key = keyOf(change.removed)
      if (isContinued || this.#loaded.get(key)?.id === undefined) this.#entries.remove(key)
      return
    }
    const found = isContinued ? undefined : this.#loaded.get(keyOf(change.email))
    this.#entries.put(found === undefined ? change : combined(found, change))
  }

  get isWritable(): boolean {
    return this.#log !== undefined
  }

  /** Absolute, and without symbolic links. */
  get path(): string {
    return resolve(targetOf(this.#file.path))
  }

  /** For errors. */
  get name(): string {
    return this.#file.name
  }

  /** The number of the generation that was read, or that `close` has written. */
  get serial(): number {
    return this.#header.serial
  }

  /** Without case. */
  find(email: string): StateEntry | undefined {
    return this.#entries.byKey.get(keyOf(email))
  }

  findById(id: string): StateEntry | undefined {
    return this.#entries.findById(id)
  }

  /**
   * Sorted by email, without those of forgotten users.
   * @param isChosen called with `keyOf` of each email (default: all)
   */
  entries(isChosen: (key: string) => boolean = () => true): StateEntry[] {
    return this.#entries.sorted((key, { creation }) => creation !== 'forgotten' && isChosen(key))
  }

  /** Sorted by email. */
  allEntries(): StateEntry[] {
    return this.#entries.sorted()
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
   * @throws Failure `storage`
   */
  note(entry: StateEntry): void {
    const found = this.find(entry.email)
    if (found && formatEntry(found) === formatEntry(entry)) return
    this.#append(entry)
    this.#entries.put(entry)
  }

  /** Removes the entry of an email, if it exists. @throws Failure `storage` */
  remove(email: string): void {
    this.#append({ removed: keyOf(email) })
    this.#entries.remove(keyOf(email))
  }

  /** Makes the next generation newer than one of another file, too. */
  follow(serial: number): void {
    this.#least = Math.max(this.#least, serial)
  }

  /**
   * Writes the next generation if an entry has changed, and keeps the previous one as a backup. If another
   * program has replaced the file meanwhile, such as Git, the two are combined.
   * @throws Failure `storage`, or `refused` if the new file is invalid; the journal remains then, so nothing
   *   is lost
   */
  async close(): Promise<void> {
    const log = this.#log
    this.#log = undefined
    if (!log) return
    const isChanged = this.#entries.differsFrom(this.#loaded) || this.#least > this.serial
    const isReplaced = isChanged && identityOf(this.#file.path) !== this.#identity
    try {
      const next = { ...this.#header, serial: this.#least + 1 }
      if (isChanged && !isReplaced) {
        this.digest = await writeStateFile(this.#file, next, this.allEntries())
        this.#header = next
      }
      if (!isReplaced) log.remove()
    } catch (error) {
      throw namingJournal(error, log)
    } finally {
      try {
        log.close()
      } finally {
        this.#release?.()
      }
    }
    if (isReplaced) await this.#combine(log)
  }

  /** Reads the file again, and the journal into it. */
  async #combine(log: LineLog): Promise<void> {
    const { path, name } = this.#file
    try {
      await (await UsersState.open(path, { service: this.#header.service, access: 'write', name })).close()
    } catch (error) {
      throw namingJournal(error, log)
    }
  }

  #append(change: StateChange): void {
    const log = this.#writable
    if (this.#journalSerial !== this.serial) {
      log.append(headerLine(this.#header))
      this.#journalSerial = this.serial
    }
    log.append('removed' in change ? JSON.stringify(change) : formatEntry(change))
  }

  get #writable(): LineLog {
    if (this.#log === undefined) throw new Error('The state was opened for reading')
    return this.#log
  }
}

/** @throws Failure `storage` */
function readIfExists(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw systemFailure(`Cannot read ${name}`, cause)
  }
}
