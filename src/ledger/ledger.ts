import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { serviceUrl } from '../contract/base-url.ts'
import { endpoints, isRequestTo } from '../contract/endpoints.ts'
import type { Outcome } from '../contract/failure.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import type { Directories } from '../system/files/directories.ts'
import { type Line, linesBackward, linesWith } from '../system/files/shared-lines.ts'
import { UseLock } from '../system/files/use-lock.ts'
import { isRunning } from '../system/is-running.ts'
import { once } from '../system/once.ts'
import { changesIn, entryOf, type LedgerEntry } from './changes.ts'
import { lineOf, type Note, type OutcomeRecord, readRecord, runOf, type WrittenNote } from './record.ts'

/** A position in a ledger: the inode of the file, undefined if there was none, and an offset in bytes. */
export interface LedgerEnd {
  file: number | undefined
  size: number
}

export type ShownOutcome = Outcome | 'in_progress'

/**
 * The changes that were sent to one service from this machine, as questions. Nothing is read before the first one.
 * @throws Failure `storage` each of them, if the ledger cannot be read, except if there is none
 */
export class Ledger {
  readonly path: string
  /** The ledger before it was rewritten the last time. */
  readonly archive: string
  /** What the last lines of runs contain; undefined if no run has the ledger open. */
  readonly #ends = once(() =>
    this.#isOpen() ? new Set(Array.from(this.#linesWith('{"end":"'), ({ text }) => text)) : undefined,
  )

  constructor(path: string) {
    this.path = path
    this.archive = `${path}.archive`
  }

  /** @param service base URL, or `local` for the embedded service */
  static of(directories: Directories, service: string): Ledger {
    const key = service === 'local' ? `local ${directories.data}` : serviceUrl(service)
    const name = createHash('sha256').update(key).digest('hex').slice(0, 24)
    return new Ledger(join(directories.state, 'ledger', `${name}.jsonl`))
  }

  /** The ledgers of all services. @throws Failure `storage` */
  static all(directories: Directories): Ledger[] {
    const directory = join(directories.state, 'ledger')
    try {
      const names = readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
      return names.sort().map((name) => new Ledger(join(directory, name)))
    } catch (cause) {
      if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return []
      throw unreadable(directory, cause)
    }
  }

  /** Its first line, and the offset after the lines that the archive has, too. Undefined if there is none. */
  get header() {
    for (const { text, end } of this.#linesWith('{"ledger":')) {
      const record = readRecord(text)
      if (!record || !('ledger' in record)) continue
      const { service, archived } = record
      return { service, archived: archived === undefined ? undefined : end + archived }
    }
    return undefined
  }

  /**
   * All changes, newest first, also those that only the archive has.
   * @param onUnreadable called for each line that is not a line of this version of the ledger
   * @param since ISO 8601 UTC. Earlier changes are not parsed, which takes most of the time.
   */
  *entries(onUnreadable: () => void = () => {}, since = ''): Generator<LedgerEntry> {
    const outcomes = new Map<string, OutcomeRecord>()
    // A kill may have left an archive that is the same file.
    const isOther = existsSync(this.archive) && statSync(this.archive).ino !== this.inode
    const archived = isOther ? this.header?.archived : undefined
    for (const { text, at } of this.#newestFirst(archived)) {
      const time = /"at":"([^"]*)"/.exec(text)?.[1]
      if (text === '' || (time !== undefined && time < since)) continue
      const record = readRecord(text)
      if (!record) onUnreadable()
      else if ('of' in record) {
        // The last one applies.
        if (!outcomes.has(record.of)) outcomes.set(record.of, record)
      } else if ('id' in record) {
        if (record.method !== 'GET') yield entryOf(record, at, outcomes.get(record.id))
        outcomes.delete(record.id)
      }
    }
  }

  /** The changes that are not only in the archive, oldest first. @param texts one of which their lines contain */
  changes(...texts: string[]): LedgerEntry[] {
    return changesIn(this.#linesWith(...(texts.length === 0 ? ['"'] : texts)))
  }

  /** The changes of the settings, of the API configuration, or of both, oldest first. */
  changesOf(...subjects: ('settings' | 'api')[]): LedgerEntry[] {
    const { updateSettings, setApiConfiguration } = endpoints
    return this.changes(...subjects.map((subject) => `"about":"${subject}"`)).filter((entry) =>
      subjects.some((about) => isRequestTo(about === 'api' ? setApiConfiguration : updateSettings, entry)),
    )
  }

  /** Every change of users, oldest first. */
  userChanges(): LedgerEntry[] {
    // A user may be created without an email.
    return this.changes('"email":"', '"user":"', `"path":"${endpoints.createUser.path}`)
  }

  /**
   * Every change that names a user, oldest first: by the ID, the email, and all IDs and emails that belong to these.
   * @param users IDs or email addresses of one user
   */
  changesOfUser(...users: string[]): LedgerEntry[] {
    const texts = new Set<string>()
    const isNamed = (email: string | undefined, id: string | undefined) =>
      texts.has(named('email', email)) || texts.has(named('user', id))
    const lines = new Map<number, Line>()
    const begun = new Set<string>()
    let added = users.flatMap((user) => [named('email', user.toLowerCase()), named('user', user)])
    while (added.length > 0) {
      for (const text of added) texts.add(text)
      const found = new Set<string>()
      const ended: string[] = []
      for (const line of this.#linesWith(...added)) {
        const record = readRecord(line.text)
        // Values may contain the same text.
        if (!record || !('of' in record || 'id' in record)) continue
        lines.set(line.at, line)
        if ('id' in record) begun.add(record.id)
        if (!isNamed(record.email, record.user)) continue
        if (record.email !== undefined) found.add(named('email', record.email))
        if (record.user !== undefined) found.add(named('user', record.user))
        // A create without an email names no user.
        if ('of' in record && record.email === undefined) ended.push(record.of)
      }
      for (const id of ended) if (!begun.has(id)) found.add(`"id":${JSON.stringify(id)}`)
      added = [...found].filter((text) => !texts.has(text))
    }
    const ordered = [...lines.values()].sort((one, other) => one.at - other.at)
    return changesIn(ordered).filter(({ email, user_id: id }) =>
      isNamed(email?.toLowerCase(), id ?? undefined),
    )
  }

  /** Every change with an email, oldest first. */
  changesWith(email: string): LedgerEntry[] {
    const key = email.toLowerCase()
    return this.changes(named('email', key)).filter((entry) => entry.email?.toLowerCase() === key)
  }

  /** The email in lower case of the user with an ID: the last one that was seen, or else the one of the creation. */
  emailOf(id: string): string | undefined {
    let email: string | undefined
    for (const { text } of this.#linesWith(named('user', id))) {
      const record = readRecord(text)
      if (!record || !('of' in record || 'id' in record) || record.user !== id) continue
      // The ID of another user in a response is not that of this one.
      email = 'id' in record ? (record.email ?? email) : (email ?? record.email)
    }
    return email
  }

  /** Distinguishes changes that another run has sent, and for whose response it waits, from unknown ones. */
  outcomeOf(entry: Pick<LedgerEntry, 'id' | 'outcome' | 'error'>): ShownOutcome {
    if (entry.outcome !== 'unknown' || entry.error !== null) return entry.outcome
    const run = runOf(entry)
    const isOpen = this.#ends()?.has(lineOf({ end: run })) === false
    const isLive = isOpen && isRunning(Number(run.split('-')[1]))
    return isLive ? 'in_progress' : entry.outcome
  }

  /** The ID of the last change; empty if there is none. */
  get last(): string {
    for (const { text } of this.#reading(linesBackward(this.path))) {
      const record = text.includes('"id":"') ? readRecord(text) : undefined
      if (record && 'id' in record && record.method !== 'GET') return record.id
    }
    return ''
  }

  /**
   * The notes that have a field with a value, or any value, oldest first.
   * @param isWhole whether the value is not only its beginning
   */
  notesWith<N extends Note>(field: keyof N & string, value?: string, isWhole = true) {
    const text = JSON.stringify(value ?? '').slice(0, value === undefined || !isWhole ? -1 : undefined)
    return [...this.#linesWith(`"${field}":${text}`)].flatMap(({ text, at: position }) => {
      const record = readRecord(text)
      if (!record || !('by' in record) || !(field in record)) return []
      return { ...(record as unknown as WrittenNote<N>), position }
    })
  }

  /** Of the file; undefined if there is none. */
  get inode(): number | undefined {
    return statSync(this.path, { throwIfNoEntry: false })?.ino
  }

  /** Where its complete lines end. */
  get end(): LedgerEnd {
    const file = this.inode
    const [last] = this.#reading(linesBackward(this.path))
    const size = last ? last.at + Buffer.byteLength(last.text) + 1 : 0
    return { file, size }
  }

  /** Whether a run has it open. A process ID alone may belong to a later process. */
  #isOpen(): boolean {
    if (!existsSync(this.path)) return false
    try {
      const lock = new UseLock(this.path)
      const isFree = lock.hold('rewrite')
      lock.close()
      return !isFree
    } catch {
      return false
    }
  }

  /** @param archived offset before which the archive has the lines, too; undefined without an archive */
  *#newestFirst(archived: number | undefined): Generator<Line> {
    yield* this.#reading(linesBackward(this.path, archived))
    if (archived !== undefined) yield* this.#reading(linesBackward(this.archive))
  }

  #linesWith(...texts: string[]) {
    return this.#reading(linesWith(this.path, texts))
  }

  *#reading<L extends Line>(lines: Iterable<L>): Generator<L> {
    try {
      yield* lines
    } catch (cause) {
      throw unreadable(this.path, cause)
    }
  }
}

/** A change to one of all services, with what is known of its outcome now. */
export interface ServiceEntry extends Omit<LedgerEntry, 'outcome'> {
  service: string
  outcome: ShownOutcome
}

/** All changes to all services, newest first. @throws as `Ledger` */
export function* allEntries(
  directories: Directories,
  onUnreadable: () => void,
  since?: string,
): Generator<ServiceEntry> {
  const open = Ledger.all(directories).map((ledger) => {
    const { service = '' } = ledger.header ?? {}
    const entries = ledger.entries(onUnreadable, since)
    return { ledger, service, entries, head: entries.next().value }
  })
  for (;;) {
    const [newest] = open.toSorted((one, other) => ((one.head?.at ?? '') > (other.head?.at ?? '') ? -1 : 1))
    if (!newest?.head) return
    yield { ...newest.head, service: newest.service, outcome: newest.ledger.outcomeOf(newest.head) }
    newest.head = newest.entries.next().value
  }
}

/** A field as it is written. */
function named(field: 'email' | 'user', value: string | undefined): string {
  return `"${field}":${JSON.stringify(value)}`
}

function unreadable(path: string, cause: unknown) {
  return systemFailure(`Cannot read the ledger ${path}`, cause)
}
