import { Failure } from '../../contract/failure.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../../contract/resources/conversation.ts'
import {
  type CursorField,
  type CursorValues,
  certainOrder,
  cursorsOf,
  firstTime,
  type HistoryOrder,
  latestTime,
  probableOrder,
  timeOf,
} from '../../contract/resources/history-order.ts'
import type { ApiResponse } from '../response/response.ts'
import { keysOf, type SeenMessages } from './message-keys.ts'

/** The position of a walk through the history. Plain data, which can be stored to continue later. */
export interface HistoryPosition {
  cursor: CursorField
  /** Whether that cursor has led to older messages before. */
  proven: boolean
  /** The order in which the last page was read, and whether that is certain: then it remains so. */
  order: HistoryOrder
  isOrderKnown: boolean
  /** The oldest message of the last page that had any, and its time in ms. */
  oldest?: CursorValues
  time?: number
  /** The oldest message of the same page with a later time than `oldest`. */
  later?: CursorValues
  /** The other end of the page, while the order is unknown. */
  newestEnd?: CursorValues
  /** Whether the service rejects `limit`. */
  withoutLimit?: boolean
  /** Number of messages on the last page, and whether it reported more. */
  count: number
  saidMore: boolean
  /** Time, in ms, of the newest message. Later messages arrived during the walk. */
  newest?: number
}

export const beforeWalk: HistoryPosition = {
  cursor: 'id',
  proven: false,
  order: 'oldest first',
  isOrderKnown: false,
  count: 0,
  saidMore: true,
}

/** One page of a walk back through the history (`History.pages`). */
export interface HistoryBatch {
  /** Oldest first; none that an earlier page had. */
  messages: readonly HistoryMessage[]
  /** The key of each of its messages. @internal */
  keys: ReadonlyMap<HistoryMessage, number>
  response: ApiResponse<HistoryPage>
  /** Where another walk can continue: plain data. */
  position: HistoryPosition
  /** Whether the page contains messages of another walk, which ends this one. */
  met: boolean
  /**
   * Whether messages of the same time as its newest may lie between this page and the one before: a
   * service whose cursor skips all messages of one time hides those that fill more than a page.
   */
  unsure: boolean
}

/** Where a walk through the history begins and ends. */
export interface WalkOptions {
  /** Continues an earlier walk. */
  position?: HistoryPosition | undefined
  /** The messages seen; it gets those of this walk. @internal */
  seen?: SeenMessages
  /** The walk's own part of `seen`: messages of a smaller part end it. @internal */
  part?: number
  /** The order of the pages of this service, if it is known. */
  order?: HistoryOrder | undefined
  /** Unix time in milliseconds: older messages are omitted, and the first of them ends the walk. */
  since?: number | undefined
}

type FetchPage = (query: HistoryQuery) => Promise<ApiResponse<HistoryPage>>

/**
 * Walks back page by page. The interface shows neither the order within a page nor the meaning of
 * `before`. The order is learned once: from the IDs, else from the times, else from messages that were seen: a step
 * back overlaps the last page at the newer end. The cursor is an ID or a
 * `created_at`, depending on which one leads to older messages (see `attemptsToStepBack`).
 */
export async function* walkHistory(
  fetchPage: FetchPage,
  query: HistoryQuery,
  options: WalkOptions,
): AsyncGenerator<HistoryBatch> {
  const { position: start, seen = new Map(), part = 0, since, order } = options
  const beginning = order && { ...beforeWalk, order, isOrderKnown: true }
  const read: Read = (response, from = beginning) => readPage(response, seen, part, from)
  for (let position = start; ; ) {
    const page: PageReading | undefined = position
      ? await stepBack(fetchPage, query, read, position)
      : await readFirst(fetchPage, query, read)
    if (!page) return
    const { response, keys, met, unsure = false } = page
    position = page.position
    const messages =
      since === undefined ? page.messages : page.messages.filter((message) => !(timeOf(message) < since))
    yield { messages, keys, response, position, met, unsure }
    const isBefore = since !== undefined && position.time !== undefined && position.time < since
    if (met || response.body?.has_more === false || isBefore) return
  }
}

type Read = (response: ApiResponse<HistoryPage>, from: HistoryPosition | undefined) => PageReading

/** A page of the history, as a walk interprets it. */
interface PageReading {
  response: ApiResponse<HistoryPage>
  /** All messages of the page, oldest first, and those of them that are new. */
  all: readonly HistoryMessage[]
  messages: readonly HistoryMessage[]
  keys: ReadonlyMap<HistoryMessage, number>
  /** Whether it contains messages of an earlier part. */
  met: boolean
  position: HistoryPosition
  /** See `HistoryBatch`. */
  unsure?: boolean
}

/** Reads the first page, without `limit` if the service rejects that. */
async function readFirst(fetchPage: FetchPage, query: HistoryQuery, read: Read): Promise<PageReading> {
  try {
    return read(await fetchPage(query), undefined)
  } catch (error) {
    if (query.limit === undefined || !isRejectedQuery(error)) throw error
    const { limit: _, ...unlimited } = query
    const page = read(await fetchPage(unlimited), undefined)
    page.position.withoutLimit = true
    return page
  }
}

/** @returns undefined at the end of the history */
async function stepBack(
  fetchPage: FetchPage,
  { limit: asked, ...unlimited }: HistoryQuery,
  read: Read,
  position: HistoryPosition,
): Promise<PageReading | undefined> {
  const limit = position.withoutLimit ? undefined : asked
  let rejection: Failure | undefined
  let ended = false
  let repeated = false
  for (const { field, before, order = position.order, skipsEqualTimes } of attemptsToStepBack(position)) {
    try {
      const response = await fetchPage({ ...unlimited, limit, before })
      const page = read(response, { ...position, cursor: field, proven: true, order })
      if (page.messages.length > 0 || page.met) {
        const unsure = skipsEqualTimes && !page.all.some((message) => timeOf(message) === position.time)
        return { ...page, unsure }
      }
      // A full page without new messages may come from a service that ignores the cursor.
      const { has_more } = response.body ?? {}
      if (has_more === undefined && page.all.length > 0 && page.all.length === limit) repeated = true
      // An empty page means the end, unless the cursor has never led to older messages: then it may be misunderstood.
      else if (has_more !== true) ended = true
      if (has_more === false && position.proven && field === position.cursor) break
    } catch (error) {
      if (!isRejectedQuery(error)) throw error
      rejection ??= error
    }
  }
  if (ended) return undefined
  if (repeated && !position.proven) {
    throw new Failure('invalid_response', 'The service returns the same page for every cursor', {
      hint: 'There may be older messages, but the service offers no way to request them.',
    })
  }
  // If the service reports nothing about more messages, a page that is not full is the last.
  if (!position.saidMore && (!rejection || position.count < (limit ?? Number.POSITIVE_INFINITY)))
    return undefined
  if (rejection) throw rejection
  throw new Failure('invalid_response', 'The service reports older messages but does not return them', {
    hint: 'The service accepts neither the ID nor the time of the oldest message as `before`.',
  })
}

/** One way to request older messages. */
interface OlderPageRequest {
  field: CursorField
  before: string
  /** The order of the pages, if this attempt finds older messages. */
  order?: HistoryOrder
  /** Whether a service that compares times would skip the remaining messages of the oldest time. */
  skipsEqualTimes: boolean
}

/**
 * The ways to request older messages, best first. Many services map an ID to the time of its message
 * and skip all messages of that time. So the cursor is the oldest message with a *later* time than the
 * oldest one; the few repeated messages are recognized.
 */
function attemptsToStepBack(position: HistoryPosition): OlderPageRequest[] {
  const { cursor, later, oldest, newestEnd, time, order } = position
  const fields: CursorField[] = cursor === 'id' ? ['id', 'created_at'] : ['created_at', 'id']
  const attempts = (values: CursorValues = {}, more: Partial<OlderPageRequest> = {}) =>
    fields.flatMap((field) => {
      const before = values[field]
      return before === undefined ? [] : [{ skipsEqualTimes: false, ...more, field, before }]
    })
  const other = order === 'oldest first' ? 'newest first' : 'oldest first'
  return [
    ...attempts(later),
    ...attempts(oldest, { skipsEqualTimes: time !== undefined }),
    // The page may have been read from the wrong end.
    ...attempts(newestEnd, { order: other }),
  ]
}

/** Whether a request with another query may succeed after this error. */
function isRejectedQuery(error: unknown): error is Failure {
  return error instanceof Failure && (error.status === 400 || error.status === 422)
}

/**
 * Finds the new messages of a page, and adds them to those seen.
 * @param part messages of a smaller part of `seen` end the walk
 * @param from where the walk was; undefined for its first page
 */
function readPage(
  response: ApiResponse<HistoryPage>,
  seen: SeenMessages,
  part: number,
  from: HistoryPosition | undefined,
): PageReading {
  const sent: readonly unknown[] = Array.isArray(response.body?.messages) ? response.body.messages : []
  const page = sent.filter(isRecord as (value: unknown) => value is HistoryMessage)
  const listed = keysOf(page)
  const keys = new Map(page.map((message, index) => [message, listed[index] ?? 0]))
  const parts = listed.map((key) => seen.get(key))
  const known = from?.isOrderKnown ? from.order : certainOrder(page)
  const certain = known ?? orderBySeen(parts, part)
  const order = certain ?? (from?.proven ? from.order : probableOrder(page))
  const isTurned = order === 'newest first'
  const all = isTurned ? page.toReversed() : page
  if (isTurned) parts.reverse()

  const newest = from?.newest ?? latestTime(all)
  const lastOwn = parts.lastIndexOf(part)
  const firstMet = parts.findIndex((found) => found !== undefined && found < part)
  const messages = all.filter((message, index) => {
    if (parts[index] !== undefined) return false
    // The message arrived during the walk, on a page that overlaps the last one.
    const isBeyond = newest !== undefined && lastOwn >= 0 && index > lastOwn
    if (isBeyond && timeOf(message) > newest) return false
    // Older messages than those of another walk are left to that walk. If the order is unknown, it starts again.
    if (index < firstMet && certain !== undefined) return false
    const key = keys.get(message) ?? 0
    const isRepeated = seen.has(key)
    if (!isRepeated) seen.set(key, part)
    return !isRepeated
  })
  const kept: HistoryPosition = {
    ...(from ?? beforeWalk),
    order,
    isOrderKnown: certain !== undefined,
    saidMore: response.body?.has_more === true,
    newest,
  }
  const position = all.length === 0 ? kept : { ...kept, ...placeOf(all, certain !== undefined) }
  return { response, all, messages, keys, met: firstMet >= 0, position }
}

/** The walk goes back in time: its own messages are at the newer end of a page. */
function orderBySeen(parts: readonly (number | undefined)[], own: number): HistoryOrder | undefined {
  if ((parts[0] === own) === (parts.at(-1) === own)) return undefined
  return parts[0] === own ? 'newest first' : 'oldest first'
}

/** @param all the messages of a page, oldest first */
function placeOf(all: readonly HistoryMessage[], isOrderKnown: boolean): Partial<HistoryPosition> {
  const time = firstTime(all)
  const laterAt = time === undefined ? -1 : all.findIndex((message) => timeOf(message) > time)
  return {
    oldest: cursorsOf(all),
    time,
    later: laterAt < 0 ? undefined : cursorsOf(all.slice(laterAt)),
    newestEnd: isOrderKnown ? undefined : cursorsOf(all.toReversed()),
    count: all.length,
  }
}
