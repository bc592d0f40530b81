import { existsSync } from 'node:fs'
import type { Run } from '../run/run.ts'
import { type FoundMessage, type SearchFilters, timeOfId } from './message-database.ts'
import {
  demandMirror,
  type MirrorFacts,
  mirrorPath,
  mirrorsDirectory,
  openToSearch,
  ownerOf,
} from './mirror.ts'
import { SearchQuery, snippetOf } from './search-query.ts'
import { TranscriptIndex, type Transcripts } from './transcript-index.ts'

export interface Search {
  words: string
  filters: SearchFilters
  limit: number
}

type SearchRun = Pick<Run, 'confirm' | 'contextOwner' | 'directories' | 'knownUser'>

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
  /** Undefined if there is no mirror, or only local messages are searched. */
  mirror: MirrorFacts | undefined
  sessions: number
  /** The users whose sessions were searched, as far as they are known. */
  users: readonly string[]
  /** The ranges of the matches in a snippet. */
  find(snippet: string): { start: number; end: number }[]
}

/**
 * Searches the mirror and the transcripts of an owner, the newest messages first. Sends no request.
 * @throws Failure `usage` for a search without a word; `conflict` or `declined` for a mirror of another user; `storage`
 */
export async function searchMessages(
  run: SearchRun,
  { words, filters, limit }: Search,
  transcripts: Transcripts,
): Promise<SearchReport> {
  const query = new SearchQuery(words)
  const owner = ownerOf(run.contextOwner())
  const directory = mirrorsDirectory(run.directories)
  const path = mirrorPath(directory, owner)
  const { deliveries } = filters
  const isLocal = deliveries?.includes('local') === true
  const mirror = !isLocal && existsSync(path) ? openToSearch(path) : undefined
  const index = await TranscriptIndex.open(directory, transcripts)
  const most = limit + beyondLimit
  try {
    if (mirror) await demandMirror(path, mirror.facts, run, run.knownUser(), 'Search it nevertheless?')
    const inSessions = (groups: readonly string[]) => {
      const wanted = groups.filter((each) => deliveries?.includes(each) ?? true)
      return wanted.length === 0 ? [] : index.search(query, { ...filters, deliveries: wanted }, most, owner)
    }
    const inMirror = mirror?.store.search(query, { ...filters, deliveries: undefined }, most) ?? []
    const found = mergeNewest(inMirror, inSessions(['stored', 'unknown']), inSessions(localDeliveries))
    return {
      results: found.slice(0, limit).map((each) => present(each, query)),
      hasMore: found.length > limit,
      mirror: mirror?.facts,
      sessions: index.countSessions(owner, deliveries),
      users: index.users(owner),
      find: (snippet) => query.find(snippet),
    }
  } finally {
    index.close()
    mirror?.store.close()
  }
}

/** The deliveries of messages that only this machine has. */
const localDeliveries = ['local', 'not_sent']

/** A message in the mirror, in a session, or in both. */
interface Merged {
  id: number
  mirrored: FoundMessage | undefined
  session: FoundMessage | undefined
}

/** The service and this machine may date the same message differently by this time, in ms. */
const maxSkew = 10 * 60_000

/** Number of messages that are read beyond the limit, so that the last ones are found in both. */
const beyondLimit = 20

/**
 * Merges lists, the newest first. A message of the mirror covers one of a session that is not local and has the same
 * ID, or the same role and text at about the same time: a transcript does not know the IDs of prompts, and the
 * interface does not say whether a reply has its ID in the history too.
 */
function mergeNewest(
  inMirror: readonly FoundMessage[],
  inSessions: readonly FoundMessage[],
  local: readonly FoundMessage[],
): Merged[] {
  const merged = inMirror.map((mirrored): Merged => ({ id: mirrored.id, mirrored, session: undefined }))
  const byText = Map.groupBy(merged, ({ mirrored }) => keyOf(mirrored))
  const byId = new Map(merged.map((each) => [each.mirrored?.messageId, each]))
  for (const session of inSessions) {
    const named = session.messageId === null ? undefined : byId.get(session.messageId)
    const candidates = named ? [named] : (byText.get(keyOf(session)) ?? [])
    const twin = candidates.find(
      (each) => !each.session && Math.abs(timeOfId(each.id) - timeOfId(session.id)) <= maxSkew,
    )
    if (twin) twin.session = session
    else merged.push({ id: session.id, mirrored: undefined, session })
  }
  for (const session of local) merged.push({ id: session.id, mirrored: undefined, session })
  return merged.sort((a, b) => b.id - a.id)
}

function keyOf(message: FoundMessage | undefined): string {
  return JSON.stringify([message?.role, message?.text])
}

function present({ mirrored, session }: Merged, query: SearchQuery): SearchResult {
  const both = [mirrored, session]
  const first = <K extends keyof FoundMessage>(key: K) =>
    both.map((message) => message?.[key]).find((value) => value != null) ?? null
  return {
    time: first('at'),
    role: first('role'),
    context_id: first('contextId'),
    session_id: first('sessionId'),
    message_id: first('messageId'),
    source: !session ? 'mirror' : mirrored ? 'both' : 'session',
    snippet: snippetOf(first('text') ?? '', query),
  }
}
