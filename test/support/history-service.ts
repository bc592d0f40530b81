import { type Behaviour, failing, json, type RecordedRequest } from './fault-server.ts'

export interface StoredMessage {
  id?: string
  content: string
  role: string
  created_at?: string
  [field: string]: unknown
}

/** One way to read what the interface does not show about the history. */
export interface HistoryReading {
  /** Within a page. */
  order: 'oldest' | 'newest'
  /** What `before` holds. */
  cursor: 'id' | 'created_at'
  /**
   * What is before it: the rows above that one, that one too, or all of an earlier time, in which
   * case an id stands for the time of its message.
   */
  before: 'row' | 'row itself' | 'time' | 'time itself'
  /** What a cursor of the other kind leads to. */
  unknown: 'same' | 'empty' | 'nothing' | 400 | 422
  /** `when full` says that there is more whenever the page is full. */
  hasMore: 'exact' | 'when full' | 'missing'
  /** Messages on a page: those asked for, but no more than this; 'all' ignores what is asked for. */
  largest: number
  limit: 'taken' | 'ignored' | 'refused'
  /** Each page has this many at most in turn, though there are more. */
  short?: readonly number[]
}

export const plainReading: HistoryReading = {
  order: 'oldest',
  cursor: 'id',
  before: 'row',
  unknown: 400,
  hasMore: 'exact',
  largest: 100,
  limit: 'taken',
}

/** @param stored oldest first; it may grow between requests */
export function historyService(
  reading: HistoryReading,
  stored: readonly StoredMessage[],
): { choose: (request: Pick<RecordedRequest, 'path'>, index: number) => Behaviour } {
  return {
    choose: (request, index) => {
      const query = new URL(request.path, 'http://x').searchParams
      const before = query.get('before')
      const asked = query.get('limit')
      if (asked !== null && reading.limit === 'refused') return failing(400, 'bad_limit', 'No limit, please')
      const size =
        reading.limit === 'taken' ? Math.min(Number(asked ?? 20), reading.largest) : reading.largest
      const end = before === null ? stored.length : endOf(reading, stored, before)
      if (end === undefined) {
        if (reading.unknown === 'empty') return json(200, { messages: [], has_more: true })
        if (reading.unknown === 'nothing') return json(200, { messages: [], has_more: false })
        if (reading.unknown !== 'same') return failing(reading.unknown, 'bad_cursor', 'What is this?')
      }
      const short = reading.short?.[index % reading.short.length] ?? size
      const start = Math.max(0, (end ?? stored.length) - Math.min(size, short))
      const page = stored.slice(start, end ?? stored.length)
      const more = reading.hasMore === 'exact' ? start > 0 : page.length === size
      return json(200, {
        messages: reading.order === 'oldest' ? page : page.toReversed(),
        ...(reading.hasMore === 'missing' ? {} : { has_more: more }),
      })
    },
  }
}

function endOf(
  reading: HistoryReading,
  stored: readonly StoredMessage[],
  cursor: string,
): number | undefined {
  const index = stored.findIndex((message) => message[reading.cursor] === cursor)
  const found = stored[index]
  if (!found) return undefined
  if (reading.before === 'row') return index
  if (reading.before === 'row itself') return index + 1
  const time = found.created_at ?? ''
  const isAfter = (message: StoredMessage): boolean =>
    reading.before === 'time' ? (message.created_at ?? '') >= time : (message.created_at ?? '') > time
  const end = stored.findIndex(isAfter)
  return end < 0 ? stored.length : end
}

/** @param minutes of each message, never falling */
export function storedAt(minutes: readonly number[]): StoredMessage[] {
  return minutes.map((minute, index) => ({
    id: `m${index}`,
    content: `text ${index}`,
    role: index % 2 ? 'assistant' : 'user',
    created_at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  }))
}
