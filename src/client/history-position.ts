import type { HistoryQuery } from '../contract/conversation.ts'
import type { HistoryOrder } from '../contract/history-order.ts'

/** The field of a message that `before` takes. */
type CursorField = 'id' | 'created_at'

/** What `before` may hold, of the first messages that have it. */
export interface Anchor {
  id?: string
  created_at?: string
}

/** Where a walk through the history is: plain data, to store and to continue from. */
export interface HistoryPosition {
  cursor: CursorField
  /** Whether that cursor has led to older messages before. */
  proven: boolean
  /** Of the pages so far, where they told. */
  order?: HistoryOrder
  /** The order in which the last page was read where nothing told. */
  assumed: HistoryOrder
  /** The oldest message, and its time in ms. */
  oldest?: Anchor
  time?: number
  /** The oldest message of a later time than that: of the last page, or of one before. */
  later?: Anchor
  laterIsOfPage: boolean
  /** The other end of the last page, while nothing tells the order. */
  newestEnd?: Anchor
  /** Whether the service refuses to be told how many messages a page may have. */
  withoutLimit?: boolean
  /** How many messages the last page had, and whether it said that there are more. */
  count: number
  saidMore: boolean
  /** Time, in ms, of the newest message of all: what is later came during the walk. */
  newest?: number
}

export const beforeWalk: HistoryPosition = {
  cursor: 'id',
  proven: false,
  assumed: 'oldest first',
  laterIsOfPage: false,
  count: 0,
  saidMore: true,
}

/** One way to ask for what is older. */
export interface Attempt {
  field: CursorField
  query: Pick<HistoryQuery, 'before' | 'limit'>
  /** The order that the pages have if it leads on. */
  order?: HistoryOrder
  /** Whether a service that compares times would leave out the rest of those of the oldest time. */
  skipsEqualTimes: boolean
}

/** Messages on a page, when all of one time do not fit a usual page. */
const largest = 1000

/**
 * The ways to go on, the best first. Many a service takes an id for the time of its message, and
 * leaves out all of that time: so the cursor is the oldest message of a *later* time than the
 * oldest, and the few that come again are known. Where a full page is of one time, a larger page is
 * asked for, and last the oldest message itself is the cursor. A page that is not full was bounded by
 * the service, as one of long messages may be: a larger one would not be granted either.
 */
export function attemptsToStepBack(position: HistoryPosition, limit: number | undefined): Attempt[] {
  const { cursor, oldest, later, laterIsOfPage, time, count, order, assumed, newestEnd } = position
  const fields: CursorField[] = cursor === 'id' ? ['id', 'created_at'] : ['created_at', 'id']
  const attempts: Attempt[] = []
  const add = (
    field: CursorField,
    before: string | undefined,
    more: Partial<Attempt> & { limit?: number },
  ) => {
    if (before === undefined) return
    const query = more.limit === undefined ? { before } : { before, limit: more.limit }
    attempts.push({ skipsEqualTimes: false, ...more, field, query })
  }

  if (laterIsOfPage) for (const field of fields) add(field, later?.[field], {})
  const isOfOneTime = time !== undefined && !laterIsOfPage && !(limit !== undefined && count < limit)
  const more = Math.min(largest, Math.max(limit ?? 0, count) * 4)
  if (isOfOneTime && !later) attempts.push({ field: cursor, query: { limit: more }, skipsEqualTimes: false })
  for (const field of fields) {
    if (isOfOneTime) add(field, later?.[field], { limit: more })
    add(field, oldest?.[field], { skipsEqualTimes: time !== undefined })
  }
  // Nothing told the order, and the page may have been read from the wrong end.
  if (order === undefined)
    for (const field of fields)
      add(field, newestEnd?.[field], { order: assumed === 'oldest first' ? 'newest first' : 'oldest first' })
  return attempts
}
