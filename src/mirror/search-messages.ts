import type { ContextOwner } from '../config/last-context.ts'
import type { Directories } from '../system/directories.ts'
import { isDamaged } from '../system/sqlite-error.ts'
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
  time: number
  /** The session of a message that is in both. */
  session: FoundMessage | undefined
  isOfMirror: boolean
}

/** The service and this machine may date the same message differently by this time, in ms. */
const maxSkew = 10 * 60_000

/** Maximum number of messages that wait for their counterpart in the other list. */
const maxHeld = 1000

/**
 * Merges two lists, the newest first. A message of the mirror covers one of a session with the same ID, or
 * with the same role and text at about the same time: a transcript does not know the IDs of prompts, and the
 * interface does not say whether a reply has its ID in the history too.
 */
function* mergeNewest(
  inMirror: Iterable<FoundMessage>,
  inSessions: Iterable<FoundMessage>,
): Generator<Merged> {
  const held: Merged[] = []
  for (const [message, isOfMirror] of newestOf(inMirror, inSessions)) {
    const time = timeOfId(message.id)
    const settled = held.findIndex((each) => each.time <= time + maxSkew)
    yield* held.splice(0, Math.max(settled < 0 ? held.length : settled, held.length - maxHeld))
    const twin = findTwin(held, message, isOfMirror)
    if (!twin) held.push({ message, time, session: undefined, isOfMirror })
    else if (isOfMirror) Object.assign(twin, { message, session: twin.message, isOfMirror })
    else twin.session = message
  }
  yield* held
}

function findTwin(
  held: readonly Merged[],
  { role, messageId, text }: FoundMessage,
  isOfMirror: boolean,
): Merged | undefined {
  const isFree = (each: Merged) =>
    each.isOfMirror !== isOfMirror && !each.session && each.message.role === role
  const named =
    messageId === null
      ? undefined
      : held.findLast((each) => isFree(each) && each.message.messageId === messageId)
  return named ?? held.findLast((each) => isFree(each) && each.message.text === text)
}

/** Two sorted lists as one. */
function* newestOf(
  inMirror: Iterable<FoundMessage>,
  inSessions: Iterable<FoundMessage>,
): Generator<[message: FoundMessage, isOfMirror: boolean]> {
  const lists = [inMirror[Symbol.iterator](), inSessions[Symbol.iterator]()]
  const [left, right] = lists as [Iterator<FoundMessage>, Iterator<FoundMessage>]
  let [a, b] = [left.next(), right.next()]
  try {
    while (!a.done || !b.done) {
      if (!a.done && (b.done || timeOfId(a.value.id) >= timeOfId(b.value.id))) {
        yield [a.value, true]
        a = left.next()
      } else if (!b.done) {
        yield [b.value, false]
        b = right.next()
      }
    }
  } finally {
    // Each holds a statement of its database open.
    left.return?.()
    right.return?.()
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
