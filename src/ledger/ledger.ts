import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { endpoints } from '../contract/endpoints.ts'
import { withoutTrailing } from '../contract/notation/text.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import type { Directories } from '../system/files/directories.ts'
import { type Line, linesBackward, linesWith } from '../system/files/shared-lines.ts'
import {
  changesIn,
  entryOf,
  isRequestTo,
  type PlacedEntry,
  runOf,
  type UserKnowledge,
  usersIn,
} from './knowledge.ts'
import {
  type CommandRecord,
  type Note,
  type OutcomeRecord,
  type PlanNote,
  planKey,
  readRecord,
  type StateNote,
  type WrittenNote,
} from './record.ts'

/** A position in a ledger: the inode of the file, undefined if there was none, and an offset in bytes. */
export interface LedgerEnd {
  file: number | undefined
  size: number
}

/** The changes that were sent to one service from this machine, as questions. Nothing is read before the first one. */
export class Ledger {
  readonly path: string
  /** The ledger before it was rewritten the last time. */
  readonly archive: string

  constructor(path: string) {
    this.path = path
    this.archive = `${path}.archive`
  }

  /** @param service base URL, or `local` for the embedded service */
  static of(directories: Directories, service: string): Ledger {
    const key = service === 'local' ? `local ${directories.data}` : normalizedService(service)
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

  /**
   * All changes, newest first, also those that only the archive has.
   * @param onUnreadable called for each line that is not a line of this version of the ledger
   * @param since ISO 8601 UTC. Earlier changes are not parsed, which takes most of the time.
   * @throws Failure `storage` if the ledger cannot be read, except if there is none
   */
  *entries(onUnreadable: () => void = () => {}, since = ''): Generator<PlacedEntry> {
    const current = this.#entriesIn(this.path, onUnreadable, since)
    if (!existsSync(this.archive)) return yield* current
    const seen = new Set<string>()
    for (const entry of merged([current, new Ledger(this.archive).entries(onUnreadable, since)])) {
      if (seen.has(entry.id)) continue
      seen.add(entry.id)
      yield entry
    }
  }

  *#entriesIn(path: string, onUnreadable: () => void, since: string): Generator<PlacedEntry> {
    const outcomes = new Map<string, OutcomeRecord>()
    let runs: Map<string, CommandRecord> | undefined
    for (const { text, at } of this.#reading(linesBackward(path))) {
      const time = /"at":"([^"]*)"/.exec(text)?.[1]
      if (text === '' || (time !== undefined && time < since)) continue
      const record = readRecord(text)
      if (!record) onUnreadable()
      else if ('of' in record) {
        // The last one applies.
        if (!outcomes.has(record.of)) outcomes.set(record.of, record)
      } else if ('id' in record) {
        runs ??= this.#findRuns()
        const run = runs.get(runOf(record.id))
        if (!run) onUnreadable()
        else if (record.method !== 'GET') yield entryOf(record, at, run, outcomes.get(record.id))
        outcomes.delete(record.id)
      }
    }
  }

  /** The changes of the settings, of the API configuration, or of both, oldest first. @throws as `entries` */
  changesOf(...subjects: ('settings' | 'api')[]): PlacedEntry[] {
    const entries = this.#changesWith(subjects.map((subject) => `"about":"${subject}"`))
    const { updateSettings, setApiConfiguration } = endpoints
    return entries.filter((entry) =>
      subjects.some((about) => isRequestTo(about === 'api' ? setApiConfiguration : updateSettings, entry)),
    )
  }

  /** The changes that are not only in the archive, oldest first. @throws as `entries` */
  changes(): PlacedEntry[] {
    return this.#changesWith(['"'])
  }

  /** The creations of users, oldest first. @throws as `entries` */
  creations(): PlacedEntry[] {
    return this.userChanges().filter((entry) => isRequestTo(endpoints.createUser, entry))
  }

  /** Every change of users, oldest first. @throws as `entries` */
  userChanges(): PlacedEntry[] {
    // A user may be created without an email.
    return this.#changesWith(['"email":"', '"user":"', `"path":"${endpoints.createUser.path}`])
  }

  /** The records of runs that have written no end. @throws as `entries` */
  openRuns(): CommandRecord[] {
    const ended = new Set<string>()
    for (const { text } of this.#reading(linesWith(this.path, ['{"end":"']))) {
      const record = readRecord(text)
      if (record && 'end' in record) ended.add(record.end)
    }
    return [...this.#findRuns().values()].filter(({ run }) => !ended.has(run))
  }

  /** The ID of the last change; empty if there is none. @throws as `entries` */
  get last(): string {
    const [entry] = this.entries()
    return entry?.id ?? ''
  }

  /** The notes about a state file, oldest first, each with the position from which changes are newer. @throws as `entries` */
  generations(path: string): (WrittenNote<StateNote> & { start: number })[] {
    return this.notesWith<StateNote>('state', path).map((note) => {
      const { after } = note
      if (after === '') return { ...note, start: 0 }
      const own = (line: Line) => Object(readRecord(line.text)).id === after
      const [change] = [...this.#reading(linesWith(this.path, [`"id":"${after}"`]))].filter(own)
      // A change that was erased was before the note.
      return { ...note, start: change ? change.at + 1 : note.position }
    })
  }

  /** Whether a saved plan, or a part of it, was applied on its own. @throws as `entries` */
  hasApplied(id: string, part?: string): boolean {
    return this.notesWith<PlanNote>('plan', planKey(id, part)).length > 0
  }

  /**
   * The notes that have a field with a value, or any value, oldest first.
   * @param isWhole whether the value is not only its beginning
   * @throws as `entries`
   */
  notesWith<N extends Note>(field: keyof N & string, value?: string, isWhole = true) {
    const text = JSON.stringify(value ?? '').slice(0, value === undefined || !isWhole ? -1 : undefined)
    const lines = [...this.#reading(linesWith(this.path, [`"${field}":${text}`]))]
    return lines.flatMap(({ text, at: position }) => {
      const record = readRecord(text)
      if (!record || !('by' in record) || !(field in record)) return []
      return { ...(record as unknown as WrittenNote<N>), position }
    })
  }

  /** What is known of the users with an email. Reads only their changes. @throws as `entries` */
  user(email: string): UserKnowledge {
    const none = { ids: [], creation: undefined, open: [], isContradicted: false }
    return usersIn(this.changesOfUser(email)).get(email.toLowerCase()) ?? none
  }

  /** Where its complete lines end. */
  get end(): LedgerEnd {
    const [last] = this.#reading(linesBackward(this.path))
    const size = last ? last.at + Buffer.byteLength(last.text) + 1 : 0
    return { file: statSync(this.path, { throwIfNoEntry: false })?.ino, size }
  }

  /**
   * Every change that names a user, oldest first: by the ID, the email, and all IDs and emails that belong to these.
   * @param user ID or email address
   * @throws as `entries`
   */
  changesOfUser(user: string): PlacedEntry[] {
    const texts = new Set<string>()
    const isNamed = (email: string | undefined, id: string | undefined) =>
      texts.has(named('email', email)) || texts.has(named('user', id))
    const lines = new Map<number, Line>()
    let added = [named('email', user.toLowerCase()), named('user', user)]
    while (added.length > 0) {
      for (const text of added) texts.add(text)
      const found = new Set<string>()
      for (const line of this.#reading(linesWith(this.path, added))) {
        const record = readRecord(line.text)
        // Values may contain the same text.
        if (!record || !('of' in record || 'id' in record)) continue
        lines.set(line.at, line)
        if (!isNamed(record.email, record.user)) continue
        if (record.email !== undefined) found.add(named('email', record.email))
        if (record.user !== undefined) found.add(named('user', record.user))
        // A create without an email names no user.
        if ('of' in record && record.email === undefined) found.add(`"id":${JSON.stringify(record.of)}`)
      }
      added = [...found].filter((text) => !texts.has(text))
    }
    const ordered = [...lines.values()].sort((one, other) => one.at - other.at)
    const entries = changesIn(ordered, this.#findRuns)
    return entries.filter(({ email, user_id: id }) => isNamed(email?.toLowerCase(), id ?? undefined))
  }

  #changesWith(texts: readonly string[]): PlacedEntry[] {
    return changesIn(this.#reading(linesWith(this.path, texts)), this.#findRuns)
  }

  /** Reading the records of all runs takes longer than that of a few. @param ids undefined for all */
  readonly #findRuns = (ids?: ReadonlySet<string>): Map<string, CommandRecord> => {
    const begin = '{"run":"'
    const texts = ids && ids.size <= 20 ? Array.from(ids, (id) => `${begin}${id}"`) : [begin]
    const runs = new Map<string, CommandRecord>()
    for (const { text } of texts.length === 0 ? [] : this.#reading(linesWith(this.path, texts))) {
      const record = readRecord(text)
      if (record && 'run' in record) runs.set(record.run, record)
      if (runs.size === ids?.size) break
    }
    return runs
  };

  *#reading(lines: Iterable<Line>): Generator<Line> {
    try {
      yield* lines
    } catch (cause) {
      throw unreadable(this.path, cause)
    }
  }
}

/** All changes to all services, newest first. @throws as `Ledger.entries` */
export function* allEntries(
  directories: Directories,
  onUnreadable: () => void,
  since?: string,
): Generator<PlacedEntry> {
  yield* merged(Ledger.all(directories).map((ledger) => ledger.entries(onUnreadable, since)))
}

function* merged(open: readonly Generator<PlacedEntry>[]): Generator<PlacedEntry> {
  const heads = open.map((entries) => entries.next().value)
  for (;;) {
    const newest = heads.reduce<number>((best, head, index) => {
      const other = heads[best]
      return head && (!other || head.at > other.at) ? index : best
    }, 0)
    const head = heads[newest]
    if (!head) return
    yield head
    heads[newest] = open[newest]?.next().value
  }
}

/** A base URL in one notation: without a slash at its end, except after the host. */
function normalizedService(baseUrl: string): string {
  return new URL(withoutTrailing(baseUrl, '/')).href
}

/** A field as it is written. */
function named(field: 'email' | 'user', value: string | undefined): string {
  return `"${field}":${JSON.stringify(value)}`
}

function unreadable(path: string, cause: unknown) {
  return systemFailure(`Cannot read the ledger ${path}`, cause)
}
