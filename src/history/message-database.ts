import { closeSync, openSync, rmSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { digestOf } from '../client/history/message-keys.ts'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { isBusy, isDamaged, isDiskFull, openDatabase } from '../system/sqlite.ts'
import { indexedText, type SearchQuery } from './search-query.ts'

/** A message, as it is stored and found. */
export interface StoredMessage {
  /** ISO 8601, or as the service wrote it. */
  at: string | null
  role: string | null
  contextId: string | null
  messageId: string | null
  text: string
  /** Of a session: where it is, as transcripts call it. */
  delivery?: string | undefined
}

/** A message that a search found. `id` sorts by time. */
export type FoundMessage = StoredMessage & { id: number; sessionId: string | null; turn: number | null }

/** Which messages a search may find. */
export interface SearchFilters {
  /** Unix time in ms. */
  since: number | undefined
  role: string | undefined
  contextId: string | undefined
  /** Of sessions. */
  deliveries?: readonly string[] | undefined
}

/** In ms, for other processes that write. */
const busyTimeout = 10_000

const schema = `
create table if not exists messages (
  id integer primary key,
  at text,
  role text,
  context_id text,
  message_id text,
  session_id text,
  turn integer,
  text text not null
) strict;
create virtual table if not exists words using fts5(text, tags, content='', contentless_delete=1, tokenize='ascii');
`

const columns =
  'm.id, m.at, m.role, m.context_id "contextId", m.message_id "messageId", m.session_id "sessionId", m.turn, m.text'

/**
 * Messages in a SQLite database, with an index of their words. The ID of a message is its time, so that a
 * search reads the newest first and stops at its limit.
 */
export class MessageDatabase {
  readonly path: string
  readonly database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  /**
   * Opens a database, or creates it with mode 0600.
   * @param path empty for a temporary database
   * @param ownSchema further tables
   * @throws Failure `storage`
   */
  constructor(path: string, ownSchema: string) {
    this.path = path
    this.database = this.guard(() => {
      if (path !== '') closeSync(openSync(path, 'a', 0o600))
      const database = openDatabase(path, { timeout: busyTimeout })
      try {
        // Otherwise, a deleted text stays in the file. A crash of the machine loses the last transactions; a crash of
        // the process loses none.
        database.exec(
          `pragma journal_mode = wal; pragma secure_delete = on; pragma synchronous = normal; ${schema} ${ownSchema}`,
        )
        return database
      } catch (error) {
        database.close()
        throw error
      }
    })
  }

  /** @throws Failure `storage` */
  guard<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw storageError(this.path, error)
    }
  }

  /** A prepared statement, which is kept. */
  prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** All or nothing. Other processes wait. */
  transact<T>(work: () => T): T {
    return this.guard(() => {
      this.database.exec('begin immediate')
      try {
        const result = work()
        this.database.exec('commit')
        return result
      } catch (error) {
        if (this.database.isTransaction) this.database.exec('rollback')
        throw error
      }
    })
  }

  /** Stores a message and indexes its words. @param time Unix time in ms, by which it is sorted. @returns its ID */
  add(message: StoredMessage, time: number, session?: { id: string; turn: number }): number {
    const id = this.#freeId(time)
    const { at, role, contextId, messageId, text } = message
    const place = [session?.id ?? null, session?.turn ?? null]
    const insert = this.prepare('insert into messages values (?, ?, ?, ?, ?, ?, ?, ?)')
    insert.run(id, at, role, contextId, messageId, ...place, text)
    this.#index(id, message)
    return id
  }

  replaceText(id: number, message: StoredMessage): void {
    const replacing = this.prepare('update messages set text = ? where id = ? and text <> ?')
    if (replacing.run(message.text, id, message.text).changes === 0) return
    this.prepare('delete from words where rowid = ?').run(id)
    this.#index(id, message)
  }

  remove(id: number): void {
    this.prepare('delete from words where rowid = ?').run(id)
    this.prepare('delete from messages where id = ?').run(id)
  }

  /** Removes the words of removed and replaced messages, which are otherwise only marked as deleted. */
  removeDeletedWords(): void {
    this.prepare("insert into words (words) values ('optimize')").run()
  }

  /**
   * Finds messages, the newest first.
   * @param limit maximum number of messages
   * @param condition on `m`, the message
   */
  search(
    query: SearchQuery,
    { since, ...selected }: SearchFilters,
    limit: number,
    condition = 'true',
    values: readonly (string | null)[] = [],
  ): FoundMessage[] {
    const sql = `select ${columns} from words join messages m on m.id = words.rowid
      where words match ? and words.rowid >= ? and ${condition}
      order by words.rowid desc limit ?`
    const tags = tagsOf(selected, selected.deliveries).map((tag) => ` AND tags : ${tag}`)
    const words = `text : (${query.expression()})${tags.join('')}`
    const from = since === undefined ? Number.MIN_SAFE_INTEGER : firstId(since)
    const found = this.guard(() => this.prepare(sql).all(words, from, ...values, limit))
    return found as unknown as FoundMessage[]
  }

  close(): void {
    this.database.close()
  }

  #index(id: number, message: StoredMessage): void {
    const insert = this.prepare('insert into words (rowid, text, tags) values (?, ?, ?)')
    const delivery = message.delivery?.replace('_', '') ?? ''
    insert.run(id, indexedText(message.text), [...tagsOf(message), delivery].join(' '))
  }

  #freeId(time: number): number {
    const last = this.prepare('select max(id) last from messages where id between ? and ?')
    for (let first = firstId(time); ; first += idsPerMs) {
      const found = last.get(first, first + idsPerMs - 1)?.['last']
      if (typeof found !== 'number') return first
      if (found < first + idsPerMs - 1) return found + 1
    }
  }
}

/** @throws Failure `storage` */
export function removeDatabase(path: string): void {
  try {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
  } catch (error) {
    throw storageError(path, error)
  }
}

/** Words that represent what a search selects by, so that the index alone can do it. */
function tagsOf(
  { role, contextId }: Partial<StoredMessage> | Omit<SearchFilters, 'since'>,
  deliveries?: readonly string[],
) {
  const tags: string[] = []
  if (role != null) tags.push(`r${digestOf([role])}`)
  if (contextId != null) tags.push(`c${digestOf([contextId])}`)
  if (deliveries) tags.push(`(${deliveries.map((each) => each.replace('_', '')).join(' OR ')})`)
  return tags
}

/** IDs begin with the milliseconds since 2020, so that they are exact as numbers until 2089. */
export const idsPerMs = 4096
const epoch = Date.UTC(2020, 0, 1)
const lastTime = Math.floor(Number.MAX_SAFE_INTEGER / idsPerMs) - 1000

/** The lowest ID of a time. */
function firstId(time: number): number {
  return Math.max(-lastTime, Math.min(lastTime, Math.floor(time) - epoch)) * idsPerMs
}

/** The time by which a message with an ID is sorted, in ms. */
export function timeOfId(id: number): number {
  return Math.floor(id / idsPerMs) + epoch
}

/** The failure for an error of the database or its directory. */
export function storageError(path: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException
  if (cause instanceof Failure || typeof code !== 'string' || !/^(E[A-Z0-9]+|ERR_SQLITE_ERROR)$/.test(code))
    return cause
  const fail = (message: string, hint: string) => new Failure('storage', message, { hint, cause })
  if (isDiskFull(cause))
    return fail(`No space left on the disk of ${path}`, 'Free some space, and run the same command again.')
  if (isDamaged(cause))
    return fail(`${path} is damaged`, 'Delete the file. Then history sync fetches the messages again.')
  if (isBusy(cause))
    return fail(`${path} is locked by another program`, 'Try again when that program has ended.')
  const hint = 'Make it readable and writable for this user, or set XDG_DATA_HOME to another directory.'
  return fail(`Cannot use ${path}: ${describeSystemError(cause)}`, hint)
}
