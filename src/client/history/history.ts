import { Failure } from '../../contract/failure.ts'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../../contract/resources/conversation.ts'
import { type HistoryOrder, timeOf } from '../../contract/resources/history-order.ts'
import type { EndpointCaller } from '../endpoint-caller.ts'
import type { ApiResponse } from '../response/response.ts'
import { type PageReading, readPage } from './history-page.ts'
import { attemptsToStepBack, beforeWalk, type HistoryPosition } from './history-position.ts'
import { SeenMessages } from './seen-messages.ts'

/** One page of a walk back through the history (`History.pages`). */
export interface HistoryBatch {
  /** Oldest first; none that an earlier page had. */
  messages: readonly HistoryMessage[]
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
  /**
   * The messages seen; it gets those of this walk.
   *
   * @internal
   */
  seen?: SeenMessages
  /**
   * The walk's own part of `seen`: messages of a smaller part end it.
   *
   * @internal
   */
  part?: number
  /** Unix time in milliseconds: older messages are omitted, and the first of them ends the walk. */
  since?: number | undefined
}

interface Options {
  /** Aborts this request. */
  signal?: AbortSignal
}

/** Earlier messages: GET /api/chat/history (docs/interface.md, "Chat history"). */
export class History {
  readonly #caller: EndpointCaller

  /** @internal */
  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /** Reads one page, as the service sends it. */
  page(query: HistoryQuery = {}, options: Options = {}): Promise<ApiResponse<HistoryPage>> {
    return this.#caller.call('listHistory', { ...options, query })
  }

  /**
   * Reads page after page, the newest first. The interface does not show the order within a page or what
   * `before` holds; both are detected.
   *
   * @throws Failure `invalid_response` if the service has more messages and no cursor leads to them
   */
  pages(query: HistoryQuery = {}, options: WalkOptions & Options = {}): AsyncGenerator<HistoryBatch> {
    const { signal, ...walk } = options
    return walkHistory((request) => this.page(request, signal ? { signal } : {}), query, walk)
  }
}

type FetchPage = (query: HistoryQuery) => Promise<ApiResponse<HistoryPage>>

/**
 * Walks back page by page. The interface shows neither the order within a page nor the meaning of
 * `before`. The order is derived from the times, else from the position of messages that were seen. The
 * cursor is an ID or a `created_at`, depending on which one leads to older messages (see
 * `attemptsToStepBack`).
 */
async function* walkHistory(
  fetchPage: FetchPage,
  asked: HistoryQuery,
  { position: start, seen = new SeenMessages(), part = 0, since }: WalkOptions,
): AsyncGenerator<HistoryBatch> {
  const read = (response: ApiResponse<HistoryPage>, at: HistoryPosition | undefined) =>
    readPage(response, seen, part, at)
  const accept = (reading: PageReading, unsure = false): HistoryBatch => {
    const { response, position, met } = reading
    const messages = since === undefined ? reading.messages : reading.messages.filter(isSince(since))
    return { messages, response, position, met, unsure }
  }
  const isOver = ({ met, response: { body }, position: { time } }: PageReading): boolean =>
    met || body?.has_more === false || (since !== undefined && time !== undefined && time < since)

  let position = start
  if (!position) {
    const { response, withoutLimit } = await fetchFirst(fetchPage, asked)
    const reading = read(response, undefined)
    if (withoutLimit) reading.position.withoutLimit = true
    if (isOver(reading) || reading.order !== undefined || reading.messages.length < 2) {
      yield accept(reading)
      if (isOver(reading)) return
      position = reading.position
    } else {
      // Only the second page shows the order of the first.
      const step = await stepBack(fetchPage, asked, read, reading.position)
      const { assumed } = reading.position
      const again = { ...beforeWalk, ...(step && { order: step.order }), assumed, withoutLimit }
      yield accept(readPage(response, new SeenMessages(), part, again))
      if (!step) return
      yield accept(step.reading, step.unsure)
      if (isOver(step.reading)) return
      position = step.reading.position
    }
  }
  for (;;) {
    const step: Step | undefined = await stepBack(fetchPage, asked, read, position)
    if (!step) return
    yield accept(step.reading, step.unsure)
    if (isOver(step.reading)) return
    position = step.reading.position
  }
}

const isSince = (since: number) => (message: HistoryMessage) => !(timeOf(message) < since)

/** Fetches the first page, without `limit` if the service rejects that. */
async function fetchFirst(
  fetchPage: FetchPage,
  query: HistoryQuery,
): Promise<{ response: ApiResponse<HistoryPage>; withoutLimit: boolean }> {
  try {
    return { response: await fetchPage(query), withoutLimit: false }
  } catch (error) {
    if (query.limit === undefined || !isRejectedQuery(error)) throw error
    return { response: await fetchPage(unlimited(query)), withoutLimit: true }
  }
}

function unlimited({ limit: _, ...rest }: HistoryQuery): HistoryQuery {
  return rest
}

interface Step {
  reading: PageReading
  order: HistoryOrder
  unsure: boolean
}

/** @returns undefined at the end of the history */
async function stepBack(
  fetchPage: FetchPage,
  asked: HistoryQuery,
  read: (response: ApiResponse<HistoryPage>, at: HistoryPosition) => PageReading,
  position: HistoryPosition,
): Promise<Step | undefined> {
  const query = position.withoutLimit ? unlimited(asked) : asked
  let rejection: Failure | undefined
  let ended = false
  let repeated = false
  for (const attempt of attemptsToStepBack(position, query.limit)) {
    try {
      const response = await fetchPage({ ...query, ...attempt.query })
      const from = { ...position, cursor: attempt.field, proven: true }
      if (attempt.order) from.order = attempt.order
      const reading = read(response, from)
      // If the last page had been read from the wrong end, this page would be the same.
      const order = reading.order ?? position.assumed
      if (reading.messages.length > 0 || reading.met) {
        const unsure =
          attempt.skipsEqualTimes && !reading.all.some((message) => timeOf(message) === position.time)
        return { reading: { ...reading, position: { ...reading.position, order } }, order, unsure }
      }
      // A full page without new messages may come from a service that ignores the cursor.
      const { has_more } = response.body ?? {}
      if (has_more === undefined && reading.all.length > 0 && reading.all.length === query.limit)
        repeated = true
      // An empty page means the end, unless the cursor has never led to older messages: then it may be misunderstood.
      else if (has_more !== true) ended = true
      if (has_more === false && position.proven && attempt.field === position.cursor) break
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
  if (!position.saidMore && (!rejection || position.count < (query.limit ?? Number.POSITIVE_INFINITY)))
    return undefined
  if (rejection) throw rejection
  throw new Failure('invalid_response', 'The service reports older messages but does not return them', {
    hint: 'The service accepts neither the ID nor the time of the oldest message as `before`.',
  })
}

/** Whether a request with another query may succeed after this error. */
function isRejectedQuery(error: unknown): error is Failure {
  return error instanceof Failure && (error.status === 400 || error.status === 422)
}
