import { isRecord } from '../../contract/notation/exact-json.ts'
import type { HistoryMessage, HistoryPage } from '../../contract/resources/conversation.ts'
import {
  cursorOf,
  firstTime,
  type HistoryOrder,
  orderByRoles,
  orderByTimes,
  timeOf,
} from '../../contract/resources/history-order.ts'
import type { ApiResponse } from '../response/response.ts'
import { beforeWalk, type CursorValues, type HistoryPosition } from './history-position.ts'
import type { SeenMessages } from './seen-messages.ts'

/** A page of the history, as a walk interprets it. */
export interface PageReading {
  response: ApiResponse<HistoryPage>
  /** All messages of the page, oldest first, and those of them that are new. */
  all: readonly HistoryMessage[]
  messages: readonly HistoryMessage[]
  /** Undefined if unknown. */
  order: HistoryOrder | undefined
  /** Whether it contains messages of an earlier part. */
  met: boolean
  position: HistoryPosition
}

/**
 * Finds the new messages of a page, and adds them to those seen.
 *
 * @param part messages of a smaller part of `seen` end the walk
 * @param from where the walk was; undefined for its first page
 */
export function readPage(
  response: ApiResponse<HistoryPage>,
  seen: SeenMessages,
  part: number,
  from: HistoryPosition | undefined,
): PageReading {
  const sent: readonly unknown[] = Array.isArray(response.body?.messages) ? response.body.messages : []
  const page = sent.filter(isRecord as (value: unknown) => value is HistoryMessage)
  const parts = seen.find(page, part)
  const order = orderByTimes(page) ?? orderBySeen(parts, part) ?? from?.order
  const assumed = order ?? from?.assumed ?? orderByRoles(page)
  const isTurned = assumed === 'newest first'
  const all = isTurned ? page.toReversed() : page
  if (isTurned) parts.reverse()

  const newest = from ? from.newest : latestOf(all)
  const lastSeen = from ? parts.findLastIndex((found) => found !== undefined) : -1
  const firstMet = parts.findIndex((found) => found !== undefined && found < part)
  const isWanted = (message: HistoryMessage, index: number): boolean => {
    if (parts[index] !== undefined) return false
    // The message arrived during the walk, on a page that overlaps the last one.
    const isBeyond = newest !== undefined && lastSeen >= 0 && index > lastSeen
    if (isBeyond && timeOf(message) > newest) return false
    // Older messages than those of another walk are left to that walk.
    if (index < firstMet && !(timeOf(message) >= timeOf(all[firstMet]))) return false
    return seen.add(isTurned ? page.length - 1 - index : index, part)
  }
  const messages = all.filter(isWanted)
  const position = positionAfter({ response, all, order, assumed, newest, from })
  return { response, all, messages, order, met: firstMet >= 0, position }
}

/** The walk goes back in time: its own messages are at the newer end of a page, those of another walk at the older end. */
function orderBySeen(parts: readonly (number | undefined)[], own: number): HistoryOrder | undefined {
  const rank = (found: number | undefined): number => (found === undefined ? 0 : found < own ? -1 : 1)
  const [first, last] = [rank(parts[0]), rank(parts.at(-1))]
  if (first === last) return undefined
  return first > last ? 'newest first' : 'oldest first'
}

function latestOf(messages: readonly HistoryMessage[]): number | undefined {
  let latest = Number.NEGATIVE_INFINITY
  for (const message of messages) {
    const time = timeOf(message)
    if (time > latest) latest = time
  }
  return latest === Number.NEGATIVE_INFINITY ? undefined : latest
}

interface PageRead {
  response: ApiResponse<HistoryPage>
  all: readonly HistoryMessage[]
  order: HistoryOrder | undefined
  assumed: HistoryOrder
  newest: number | undefined
  from: HistoryPosition | undefined
}

function positionAfter({
  response,
  all,
  order,
  assumed,
  newest,
  from = beforeWalk,
}: PageRead): HistoryPosition {
  const kept = {
    ...from,
    ...(order && { order }),
    assumed,
    ...(newest !== undefined && { newest }),
    saidMore: response.body?.has_more === true,
  }
  if (all.length === 0) return kept
  const time = firstTime(all)
  const laterAt = time === undefined ? -1 : all.findIndex((message) => timeOf(message) > time)
  const wasLater = from.time !== undefined && time !== undefined && from.time > time
  const later = laterAt >= 0 ? anchorOf(all, laterAt) : wasLater ? from.oldest : from.later
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

/** @param from index of the first message to consider */
function anchorOf(messages: readonly HistoryMessage[], from = 0): CursorValues {
  const values: CursorValues = {}
  for (const field of ['id', 'created_at'] as const) {
    for (let index = from; index < messages.length && values[field] === undefined; index++) {
      const message = messages[index]
      const value = message && cursorOf(message, field)
      if (value !== undefined) values[field] = value
    }
  }
  return values
}
