import type { HistoryMessage, HistoryPage } from '../contract/conversation.ts'
import { cursorOf, type HistoryOrder, orderByRoles, orderByTimes, timeOf } from '../contract/history-order.ts'
import type { Answer } from './answer.ts'
import { type Anchor, beforeWalk, type HistoryPosition } from './history-position.ts'
import { isRecord } from './json.ts'
import { keysOf, type MessageKey, type MessageKeys } from './message-keys.ts'

/** A page as a walk understands it. */
export interface PageReading {
  answer: Answer<HistoryPage>
  /** The new ones, oldest first, and their keys. */
  messages: HistoryMessage[]
  keys: MessageKey[]
  /** Ms, of all on the page; NaN where there is none. */
  times: number[]
  /** Undefined where nothing tells. */
  order: HistoryOrder | undefined
  /** Whether messages of an earlier part are on it. */
  met: boolean
  position: HistoryPosition
}

/**
 * Sorts out which messages of a page are new.
 *
 * @param part messages of a smaller part of `seen` end the walk
 * @param from where the walk was; undefined for its first page
 */
export function readPage(
  answer: Answer<HistoryPage>,
  seen: MessageKeys,
  part: number,
  from: HistoryPosition | undefined,
): PageReading {
  const sent: unknown = answer.body?.messages
  let all = Array.isArray(sent) ? sent.filter(isRecord as (value: unknown) => value is HistoryMessage) : []
  let keys = keysOf(all)
  let parts = keys.map((key) => seen.find(key))
  const told = orderByTimes(all) ?? orderBySeen(parts, part)
  const order = told ?? from?.order
  const assumed = order ?? from?.assumed ?? orderByRoles(all)
  if (assumed === 'newest first') {
    all = all.toReversed()
    keys = keys.toReversed()
    parts = parts.toReversed()
  }

  const times = all.map(timeOf)
  const newest = from ? from.newest : latestOf(times)
  const lastSeen = from ? parts.findLastIndex((found) => found !== undefined) : -1
  const firstMet = parts.findIndex((found) => found !== undefined && found < part)
  const reading: PageReading = {
    answer,
    messages: [],
    keys: [],
    times,
    order,
    met: firstMet >= 0,
    position: beforeWalk,
  }
  const taken = new Set<string>()
  for (const [index, message] of all.entries()) {
    const [key, time = Number.NaN] = [keys[index], times[index]]
    if (!key || parts[index] !== undefined) continue
    // It came while we walked, and the service leads to where we were.
    if (newest !== undefined && time > newest && lastSeen >= 0 && index > lastSeen) continue
    // What is older than what another walk had is for that one to find.
    if (index < firstMet && !(time >= (times[firstMet] ?? Number.NaN))) continue
    const name = `${key.low} ${key.high}`
    if (taken.has(name)) continue
    taken.add(name)
    reading.messages.push(message)
    reading.keys.push(key)
  }
  reading.position = positionAfter(reading, all, assumed, newest, from)
  return reading
}

/** We walk back: what we have seen is the newer end of a page, what another walk had the older one. */
function orderBySeen(parts: readonly (number | undefined)[], own: number): HistoryOrder | undefined {
  const rank = (found: number | undefined): number => (found === undefined ? 0 : found < own ? -1 : 1)
  const [first, last] = [rank(parts[0]), rank(parts.at(-1))]
  if (first === last) return undefined
  return first > last ? 'newest first' : 'oldest first'
}

function latestOf(times: readonly number[]): number | undefined {
  let latest = Number.NEGATIVE_INFINITY
  for (const time of times) if (time > latest) latest = time
  return latest === Number.NEGATIVE_INFINITY ? undefined : latest
}

/** @param all of the page, oldest first */
function positionAfter(
  { answer, times, order }: PageReading,
  all: readonly HistoryMessage[],
  assumed: HistoryOrder,
  newest: number | undefined,
  from: HistoryPosition = beforeWalk,
): HistoryPosition {
  const kept = {
    ...from,
    ...(order && { order }),
    assumed,
    ...(newest !== undefined && { newest }),
    saidMore: answer.body?.has_more === true,
  }
  if (all.length === 0) return kept
  const time = times.find((each) => !Number.isNaN(each))
  const laterAt = time === undefined ? -1 : times.findIndex((each) => each > time)
  const wasLater = from.time !== undefined && time !== undefined && from.time > time
  const later = laterAt >= 0 ? anchorOf(all.slice(laterAt)) : wasLater ? from.oldest : from.later
  return {
    ...kept,
    oldest: anchorOf(all),
    ...(time !== undefined && { time }),
    ...(later && { later }),
    laterIsOfPage: laterAt >= 0,
    count: all.length,
    ...(!order && { newestEnd: anchorOf(all.toReversed()) }),
  }
}

function anchorOf(messages: readonly HistoryMessage[]): Anchor {
  const anchor: Anchor = {}
  for (const field of ['id', 'created_at'] as const) {
    for (const message of messages) {
      const value = cursorOf(message, field)
      if (value === undefined) continue
      anchor[field] = value
      break
    }
  }
  return anchor
}
