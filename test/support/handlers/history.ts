import fc from 'fast-check'
import { type Behavior, failing, json, type RecordedRequest } from '../scripted-server.ts'

export interface StoredMessage {
  id?: string
  content: string
  role: string
  created_at?: string
  [field: string]: unknown
}

/** One interpretation of what the interface leaves open about the history. */
export interface HistoryReading {
  /** The order within a page. */
  order: 'oldest' | 'newest'
  /** The field that `before` contains. */
  cursor: 'id' | 'created_at'
  /**
   * The messages before the cursor: the rows above its row, or also its row, or all messages with an
   * earlier time, or also those with its time. By time, an ID means the time of its message.
   */
  before: 'row' | 'row itself' | 'time' | 'time itself'
  /** The response to a cursor of the other kind. */
  unknown: 'same' | 'empty' | 'nothing' | 400 | 422
  /** With `when full`, `has_more` is true whenever the page is full. */
  hasMore: 'exact' | 'when full' | 'missing'
  /** The maximum number of messages on a page. */
  largest: number
  limit: 'taken' | 'ignored' | 'refused'
  /** The maximum for each page in turn, although more messages exist. */
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

/** @param stored oldest first. It may grow between requests. */
export function historyService(
  reading: HistoryReading,
  stored: readonly StoredMessage[],
): { choose: (request: Pick<RecordedRequest, 'path'>, index: number) => Behavior } {
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

/** @param minutes the time of each message, in ascending order */
export function storedAt(minutes: readonly number[]): StoredMessage[] {
  return minutes.map((minute, index) => ({
    id: `m${index}`,
    content: `text ${index}`,
    role: index % 2 ? 'assistant' : 'user',
    created_at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  }))
}

/** All ways in which a service may read the parameters. */
export const readings: fc.Arbitrary<HistoryReading> = fc.record({
  order: fc.constantFrom('oldest', 'newest'),
  cursor: fc.constantFrom('id', 'created_at'),
  before: fc.constantFrom('row', 'row itself', 'time', 'time itself'),
  unknown: fc.constantFrom<HistoryReading['unknown']>('same', 'empty', 'nothing', 400, 422),
  hasMore: fc.constantFrom('exact', 'when full', 'missing'),
  largest: fc.integer({ min: 4, max: 8 }),
  limit: fc.constantFrom('taken', 'ignored', 'refused'),
})
