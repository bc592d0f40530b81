import { rmSync } from 'node:fs'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { isDamaged } from '../system/sqlite.ts'
import {
  type FoundMessage,
  MessageDatabase,
  newerVersion,
  newestFile,
  OtherVersion,
  type SearchFilters,
} from './message-database.ts'
import { type MirrorOwner, mirrorsDirectory } from './mirror-file.ts'
import type { SearchQuery } from './search-query.ts'
import { storageError } from './storage-error.ts'

/** A transcript on disk. It is only appended to. */
export interface TranscriptFile {
  id: string
  path: string
  size: number
  /** In ms. */
  modifiedAt: number
}

/** A place before a turn, from which a transcript can be read again. */
interface ReadingPoint extends MirrorOwner {
  offset: number
  contextId: string | undefined
}

/** A turn of a transcript, as `readMessages` of talk reads it. */
interface RecordedTurn {
  point: ReadingPoint
  turn: number
  messages: readonly {
    role: string
    at: string
    text: string
    contextId: string | undefined
    id: string | undefined
  }[]
}

/** Reads a transcript from a place on, or from its beginning. */
type ReadMessages = (path: string, from: ReadingPoint | undefined) => Iterable<RecordedTurn>

export interface Transcripts {
  files: readonly TranscriptFile[]
  /** Loads the reader, which most searches do not need. */
  loadReader(): Promise<ReadMessages>
}

const schema = `
create table sessions (
  id text primary key, size integer not null, modified_at real not null,
  profile text, base_url text, point text
) strict;
create index messages_of_session on messages (session_id, turn);
`

/** The name of its files, without `.db`. */
const name = 'sessions'

/** The transcripts of this machine in a database, which can be rebuilt from them at any time. */
export class TranscriptIndex {
  readonly #store: MessageDatabase

  private constructor(path: string) {
    this.#store = new MessageDatabase(path, schema)
  }

  /**
   * Opens the index of a directory and brings it up to date. A damaged index is rebuilt. If the directory
   * cannot be written, the index is temporary.
   */
  static async open(directory: string, transcripts: Transcripts): Promise<TranscriptIndex> {
    try {
      makePrivateDirectory(directory)
      const { path, exists } = newestFile(directory, name)
      if (!exists && transcripts.files.length === 0) return await TranscriptIndex.#openAt('', transcripts)
      try {
        return await TranscriptIndex.#openAt(path, transcripts)
      } catch (error) {
        if (error instanceof OtherVersion && error.isNewer) throw newerVersion(path)
        if (!isDamaged(error) && !(error instanceof OtherVersion)) throw error
        return await TranscriptIndex.rebuild(directory, transcripts)
      }
    } catch (error) {
      if (!isOfDisk(error)) throw error
      return TranscriptIndex.#openAt('', transcripts)
    }
  }

  /** Builds the index again, in a new file. */
  static async rebuild(directory: string, transcripts: Transcripts): Promise<TranscriptIndex> {
    const { path, next } = newestFile(directory, name)
    const index = await TranscriptIndex.#openAt(next, transcripts)
    for (const suffix of ['', '-wal', '-shm']) removeQuietly(`${path}${suffix}`)
    return index
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
  search(query: SearchQuery, filters: SearchFilters, owner: MirrorOwner): Generator<FoundMessage> {
    const ofOwner = 'm.session_id in (select s.id from sessions s where s.profile is ? and s.base_url is ?)'
    return this.#store.search(query, filters, ofOwner, [owner.profile, owner.baseUrl])
  }

  /** Number of sessions of an owner. */
  countSessions({ profile, baseUrl }: MirrorOwner): number {
    const count = this.#store.prepare(
      'select count(*) count from sessions where profile is ? and base_url is ? and point is not null',
    )
    return Number(count.get(profile, baseUrl)?.['count'])
  }

  close(): void {
    this.#store.close()
  }

  async #update({ files, loadReader }: Transcripts): Promise<void> {
    const rows = this.#store.prepare('select id, size, modified_at from sessions').all()
    const known = new Map(rows.map((row) => [row['id'], row]))
    const changed = files.filter(({ id, size, modifiedAt }) => {
      const before = known.get(id)
      known.delete(id)
      return before?.['size'] !== size || before['modified_at'] !== modifiedAt
    })
    if (known.size > 0) this.#store.transact(() => this.#forgetAll(known.keys()))
    if (changed.length === 0) return
    const read = await loadReader()
    for (const file of changed) this.#store.transact(() => this.#indexFile(file, read))
  }

  #indexFile({ id, path, size, modifiedAt }: TranscriptFile, read: ReadMessages): void {
    // Another process may have indexed it in the meantime.
    const stored = this.#store.prepare('select * from sessions where id = ?').get(id)
    const isAppended = typeof stored?.['size'] === 'number' && stored['size'] < size
    if (stored?.['size'] === size && stored['modified_at'] === modifiedAt) return
    if (!isAppended) this.#forget(id)
    const text = isAppended ? stored?.['point'] : undefined
    let point: ReadingPoint | undefined = typeof text === 'string' ? JSON.parse(text) : undefined
    let isFirst = true
    for (const turn of readOrSkip(path, point, read)) {
      if (isFirst) this.#removeTurns(id, turn.turn)
      isFirst = false
      point = turn.point
      for (const { role, at, text, contextId = null, id: messageId = null } of turn.messages) {
        const time = Date.parse(at)
        const message = { at, role, contextId, messageId, text }
        this.#store.add(message, Number.isNaN(time) ? modifiedAt : time, { id, turn: turn.turn })
      }
    }
    this.#store
      .prepare('insert or replace into sessions values (?, ?, ?, ?, ?, ?)')
      .run(
        id,
        size,
        modifiedAt,
        point?.profile ?? null,
        point?.baseUrl ?? null,
        point ? JSON.stringify(point) : null,
      )
  }

  #forgetAll(sessions: Iterable<unknown>): void {
    for (const session of sessions) this.#forget(String(session))
  }

  #forget(session: string): void {
    this.#removeTurns(session, Number.MIN_SAFE_INTEGER)
    this.#store.prepare('delete from sessions where id = ?').run(session)
  }

  /** Removes the messages of a session from a turn on. */
  #removeTurns(session: string, turn: number): void {
    const rows = this.#store
      .prepare('select id from messages where session_id = ? and turn >= ?')
      .all(session, turn)
    for (const { id } of rows) this.#store.remove(Number(id))
  }
}

/**
 * Removes the texts of all transcripts from the disk: SQLite leaves a deleted text in its file. The next
 * search builds the index again.
 *
 * @throws Failure `storage`
 */
export async function emptyTranscriptIndex(directories: Directories): Promise<void> {
  const directory = mirrorsDirectory(directories)
  try {
    if (!newestFile(directory, name).exists) return
    const index = await TranscriptIndex.rebuild(directory, { files: [], loadReader: async () => () => [] })
    index.close()
  } catch (error) {
    throw storageError(directory, error)
  }
}

/** A transcript that cannot be read is skipped, as in the list of sessions. */
function* readOrSkip(
  path: string,
  point: ReadingPoint | undefined,
  read: ReadMessages,
): Generator<RecordedTurn> {
  try {
    yield* read(path, point)
  } catch (error) {
    if (!(error instanceof Error && 'kind' in error)) throw error
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Windows cannot remove a file that another process has open.
  }
}

/** Whether the database cannot be written: a full disk, a read-only file system, missing permissions. */
function isOfDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^(E[A-Z]+|ERR_SQLITE_ERROR)$/.test(code)
}
