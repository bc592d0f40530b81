import { join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import {
  type FoundMessage,
  idsPerMs,
  MessageDatabase,
  removeDatabase,
  type SearchFilters,
  storageError,
} from './message-database.ts'
import { type MirrorOwner, mirrorsDirectory } from './mirror.ts'
import type { SearchQuery } from './search-query.ts'

export interface TranscriptFile {
  id: string
  path: string
  size: number
  /** In ms. */
  modifiedAt: number
}

/** A session as messages. */
interface RecordedSession extends MirrorOwner {
  user?: string | undefined
  messages: readonly {
    turn: number
    role: string
    at: string
    text: string
    contextId: string | undefined
    id: string | undefined
    delivery: string
  }[]
}

/** @throws Failure if the transcript cannot be read */
export type ReadMessages = (path: string) => RecordedSession

export interface Transcripts {
  files: readonly TranscriptFile[]
  /** Loads the reader, which most searches do not need. */
  loadReader(): Promise<ReadMessages>
}

const schema = `
drop table if exists transcripts;
create table if not exists sessions (
  id text primary key, size integer not null, modified_at real not null,
  profile text, base_url text, user_id text, deliveries text not null
) strict;
create index if not exists messages_of_session on messages (session_id);
`

/** A session may begin with a copy of an earlier one. */
const isCopy = `exists (
  select 1 from messages o where o.id between m.id - ${idsPerMs} and m.id + ${idsPerMs}
  and o.at = m.at and o.role = m.role and o.text = m.text and o.session_id < m.session_id)`

const indexPath = (directory: string) => join(directory, 'sessions.db')

/** The transcripts of this machine in a database, which can be rebuilt from them at any time. */
export class TranscriptIndex {
  readonly #store: MessageDatabase

  private constructor(path: string) {
    this.#store = new MessageDatabase(path, schema)
  }

  /** Opens the index of a directory and brings it up to date. If that fails, the index is temporary. */
  static async open(directory: string, transcripts: Transcripts): Promise<TranscriptIndex> {
    if (transcripts.files.length > 0) {
      try {
        makePrivateDirectory(directory)
        return await TranscriptIndex.#openAt(indexPath(directory), transcripts)
      } catch (error) {
        const failure = storageError(directory, error)
        if (!(failure instanceof Failure && failure.kind === 'storage')) throw error
      }
    }
    return TranscriptIndex.#openAt('', transcripts)
  }

  static async #openAt(path: string, transcripts: Transcripts): Promise<TranscriptIndex> {
    const index = new TranscriptIndex(path)
    try {
      await index.#update(transcripts)
      return index
    } catch (error) {
      index.close()
      throw error
    }
  }

  /** Finds messages of the sessions of an owner, the newest first. */
  search(query: SearchQuery, filters: SearchFilters, limit: number, owner: MirrorOwner): FoundMessage[] {
    const ofOwner = 'm.session_id in (select t.id from sessions t where t.profile is ? and t.base_url is ?)'
    return this.#store.search(query, filters, limit, `${ofOwner} and not ${isCopy}`, [
      owner.profile,
      owner.baseUrl,
    ])
  }

  /** The IDs of the sessions, of all owners, with a message that matches. */
  sessionsWith(query: SearchQuery): Set<string> {
    const sql =
      'select distinct m.session_id id from words join messages m on m.id = words.rowid where words match ?'
    const find = () => this.#store.prepare(sql).all(`text : (${query.expression()})`)
    return new Set(this.#store.guard(find).map(({ id }) => String(id)))
  }

  /** Number of sessions of an owner that have messages with one of these deliveries (default: any). */
  countSessions({ profile, baseUrl }: MirrorOwner, deliveries?: readonly string[]): number {
    const count = this.#store.prepare('select deliveries from sessions where profile is ? and base_url is ?')
    const found = count.all(profile, baseUrl).map((row) => String(row['deliveries']).split(' '))
    return found.filter(
      (each) => each[0] !== '' && (!deliveries || deliveries.some((one) => each.includes(one))),
    ).length
  }

  /** The users whose sessions an owner has, as far as they are known. */
  users({ profile, baseUrl }: MirrorOwner): string[] {
    const sql = 'select distinct user_id from sessions where profile is ? and base_url is ?'
    return this.#store
      .prepare(sql)
      .all(profile, baseUrl)
      .flatMap((row) => (row['user_id'] as string | null) ?? [])
  }

  close(): void {
    this.#store.close()
  }

  async #update({ files, loadReader }: Transcripts): Promise<void> {
    const rows = this.#store.prepare('select id, size, modified_at from sessions').all()
    const known = new Map(rows.map((row) => [String(row['id']), row]))
    const changed = files.filter(({ id, size, modifiedAt }) => {
      const before = known.get(id)
      known.delete(id)
      return before?.['size'] !== size || before['modified_at'] !== modifiedAt
    })
    if (known.size > 0) {
      this.#store.transact(() => {
        for (const session of known.keys()) this.#forget(session)
      })
    }
    if (changed.length === 0) return
    const read = await loadReader()
    for (const file of changed) this.#store.transact(() => this.#indexFile(file, read))
  }

  #indexFile({ id, path, size, modifiedAt }: TranscriptFile, read: ReadMessages): void {
    this.#forget(id)
    const { profile, baseUrl, user, messages } = readOrSkip(path, read)
    for (const { turn, contextId = null, id: messageId = null, ...message } of messages) {
      const time = Date.parse(message.at)
      this.#store.add({ ...message, contextId, messageId }, Number.isNaN(time) ? modifiedAt : time, {
        id,
        turn,
      })
    }
    const deliveries = new Set(messages.map(({ delivery }) => delivery))
    this.#store
      .prepare('insert into sessions values (?, ?, ?, ?, ?, ?, ?)')
      .run(id, size, modifiedAt, profile, baseUrl, user ?? null, [...deliveries].join(' '))
  }

  #forget(session: string): void {
    const rows = this.#store.prepare('select id from messages where session_id = ?').all(session)
    for (const { id } of rows) this.#store.remove(Number(id))
    this.#store.prepare('delete from sessions where id = ?').run(session)
  }
}

/**
 * Removes the texts of all transcripts from the disk: SQLite leaves a deleted text in its file. The next
 * search builds the index again.
 * @throws Failure `storage`
 */
export function removeTranscriptIndex(directories: Directories): void {
  removeDatabase(indexPath(mirrorsDirectory(directories)))
}

/** A transcript that cannot be read is skipped, as in the list of sessions. */
function readOrSkip(path: string, read: ReadMessages): RecordedSession {
  try {
    return read(path)
  } catch (error) {
    if (!(error instanceof Error && 'kind' in error)) throw error
    return { profile: null, baseUrl: null, messages: [] }
  }
}
