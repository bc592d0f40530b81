import type { HistoryQuery } from '../contract/conversation.ts'
import type { HistoryOrder } from '../contract/history-order.ts'
import type { CursorField, HistoryPosition } from './history-position.ts'

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
