import type { ContextOwner } from '../config/last-context.ts'
import type { Directories } from '../system/files/directories.ts'
import { isDamaged } from '../system/sqlite.ts'
import {
  type FoundMessage,
  type MessageDatabase,
  newerVersion,
  newestFile,
  OtherVersion,
  type SearchFilters,
  timeOfId,
} from './message-database.ts'
import { Mirror, type MirrorFacts } from './mirror.ts'
import { type MirrorOwner, mirrorsDirectory, nameOf, ownerOf } from './mirror-file.ts'
import { SearchQuery } from './search-query.ts'
import { snippetOf } from './snippet.ts'
import { storageError } from './storage-error.ts'
import { TranscriptIndex, type Transcripts } from './transcript-index.ts'

export interface SearchOptions {
  directories: Directories
  owner: ContextOwner
  words: string
  filters: SearchFilters
  limit: number
  transcripts: Transcripts
}

/** A message that matches, as it is shown. */
interface SearchResult {
  time: string | null
  role: string | null
  context_id: string | null
  session_id: string | null
  message_id: string | null
  source: 'mirror' | 'session' | 'both'
  snippet: string
}

export interface SearchReport {
  results: SearchResult[]
  /** Whether there are more than the limit. */
  hasMore: boolean
  /** Undefined if there is no mirror. */
  mirror: MirrorFacts | undefined
  /** The path of a mirror that is damaged, and was not searched or not completely. */
  damaged: string | undefined
  sessions: number
  /** The ranges of the matches in a snippet. */
  find(snippet: string): { start: number; end: number }[]
}

/** Searches the mirror and the transcripts of an owner, the newest messages first. Sends no request. */
export async function searchMessages({
  directories,
  owner: contextOwner,
  words,
  filters,
  limit,
  transcripts,
}: SearchOptions): Promise<SearchReport> {
  const query = new SearchQuery(words)
  const owner = ownerOf(contextOwner)
  const directory = mirrorsDirectory(directories)
  const mirror = openMirror(directory, owner)
  let index = await TranscriptIndex.open(directory, transcripts)
  const search = () => {
    const inMirror = mirror.store?.search(query, filters) ?? []
    const inSessions = index.search(query, filters, owner)
    return take(mergeNewest(untilDamaged(inMirror, mirror), inSessions), limit + 1)
  }
  try {
    let found: Merged[]
    try {
      found = search()
    } catch (error) {
      if (!isDamaged(error)) throw error
      index.close()
      index = await TranscriptIndex.rebuild(directory, transcripts)
      found = search()
    }
    return {
      results: found.slice(0, limit).map((each) => present(each, query)),
      hasMore: found.length > limit,
      mirror: mirror.facts,
      damaged: mirror.isDamaged ? mirror.path : undefined,
      sessions: index.countSessions(owner),
      find: (snippet) => query.find(snippet),
    }
  } finally {
    index.close()
    mirror.store?.close()
  }
}

interface OpenedMirror {
  path: string
  /** Undefined if there is none, or if it is damaged. */
  store: MessageDatabase | undefined
  facts: MirrorFacts | undefined
  isDamaged: boolean
}

function openMirror(directory: string, owner: MirrorOwner): OpenedMirror {
  const { path, exists } = guard(directory, () => newestFile(directory, nameOf(owner)))
  const none = { path, store: undefined, facts: undefined, isDamaged: false }
  if (!exists) return none
  try {
    return { path, ...Mirror.openToSearch(path, owner), isDamaged: false }
  } catch (error) {
    if (error instanceof OtherVersion) throw newerVersion(path)
    if (isDamaged(error)) return { ...none, isDamaged: true }
    throw storageError(path, error)
  }
}

function guard<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storageError(path, error)
  }
}

/** The messages that can be read. */
function* untilDamaged(messages: Iterable<FoundMessage>, mirror: OpenedMirror): Generator<FoundMessage> {
  try {
    yield* messages
  } catch (error) {
    if (!isDamaged(error)) throw error
    mirror.isDamaged = true
  }
}

interface Merged {
  message: FoundMessage
  /** The same message in a session, if it is in both. */
  session: FoundMessage | undefined
  isOfMirror: boolean
}

/** The service and this machine may date the same message differently by this time, in ms. */
const maxSkew = 10 * 60_000

/**
 * Merges two lists, the newest first. A message of the mirror covers one of a session with the same ID, or
 * with the same role and text at about the same time: a transcript does not know the IDs of prompts, and the
 * interface does not say whether a reply has its ID in the history too.
 */
function* mergeNewest(
  inMirror: Iterable<FoundMessage>,
  inSessions: Iterable<FoundMessage>,
): Generator<Merged> {
  const mirror = new FoundList(inMirror)
  const sessions = new FoundList(inSessions)
  try {
    for (;;) {
      const isOfMirror = mirror.nextTime() >= sessions.nextTime()
      const [list, other] = isOfMirror ? [mirror, sessions] : [sessions, mirror]
      const message = list.take()
      if (!message) return
      const twin = other.takeTwin(message)
      if (isOfMirror) yield { message, session: twin, isOfMirror }
      else yield { message: twin ?? message, session: twin && message, isOfMirror: twin !== undefined }
    }
  } finally {
    mirror.close()
    sessions.close()
  }
}

/** Maximum number of messages that are read ahead. */
const maxAhead = 1000

/** A list that is read as far as necessary. */
class FoundList {
  readonly #source: Iterator<FoundMessage>
  /** Messages that were read ahead. */
  readonly #ahead: FoundMessage[] = []
  #isDone = false

  constructor(source: Iterable<FoundMessage>) {
    this.#source = source[Symbol.iterator]()
  }

  /** The time of the next message in ms; -Infinity at the end. */
  nextTime(): number {
    if (this.#ahead.length === 0) this.#read()
    const [next] = this.#ahead
    return next ? timeOfId(next.id) : -Infinity
  }

  take(): FoundMessage | undefined {
    return this.nextTime() === -Infinity ? undefined : this.#ahead.shift()
  }

  /** Removes and returns the same message as one that is at least as new as the next message. */
  takeTwin({ id, role, messageId, text }: FoundMessage): FoundMessage | undefined {
    const oldest = timeOfId(id) - maxSkew
    while (!this.#isDone && this.#ahead.length < maxAhead && this.#lastTime() >= oldest) this.#read()
    const near = this.#ahead.filter((each) => each.role === role && timeOfId(each.id) >= oldest)
    const named = messageId === null ? undefined : near.find((each) => each.messageId === messageId)
    const twin = named ?? near.find((each) => each.text === text)
    if (twin) this.#ahead.splice(this.#ahead.indexOf(twin), 1)
    return twin
  }

  /** Ends the query. */
  close(): void {
    this.#source.return?.()
  }

  #lastTime(): number {
    const last = this.#ahead.at(-1)
    return last ? timeOfId(last.id) : Infinity
  }

  #read(): void {
    if (this.#isDone) return
    const { done, value } = this.#source.next()
    if (done) this.#isDone = true
    else this.#ahead.push(value)
  }
}

function take<T>(items: Iterable<T>, count: number): T[] {
  const taken: T[] = []
  for (const item of items) {
    taken.push(item)
    if (taken.length === count) break
  }
  return taken
}

function present({ message, session, isOfMirror }: Merged, query: SearchQuery): SearchResult {
  return {
    time: message.at ?? session?.at ?? null,
    role: message.role,
    context_id: message.contextId ?? session?.contextId ?? null,
    session_id: message.sessionId ?? session?.sessionId ?? null,
    message_id: message.messageId ?? session?.messageId ?? null,
    source: session ? 'both' : isOfMirror ? 'mirror' : 'session',
    snippet: snippetOf(message.text, query),
  }
}
