import type { HistoryQuery } from '../../contract/resources/conversation.ts'
import type { HistoryOrder } from '../../contract/resources/history-order.ts'

/** The field of a message that `before` takes. */
type CursorField = 'id' | 'created_at'

/** Values for `before`, from the first messages that have them. */
export interface CursorValues {
  id?: string
  created_at?: string
}

/** The position of a walk through the history. Plain data, which can be stored to continue later. */
export interface HistoryPosition {
  cursor: CursorField
  /** Whether that cursor has led to older messages before. */
  proven: boolean
  /** The order of the pages so far, if known. */
  order?: HistoryOrder
  /** The order in which the last page was read, if its order was unknown. */
  assumed: HistoryOrder
  /** The oldest message, and its time in ms. */
  oldest?: CursorValues
  time?: number
  /** The oldest message with a later time than `oldest`, from the last page or an earlier one. */
  later?: CursorValues
  laterIsOfPage: boolean
  /** The other end of the last page, while the order is unknown. */
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
  assumed: 'oldest first',
  laterIsOfPage: false,
  count: 0,
  saidMore: true,
}

/** One way to request older messages. */
export interface OlderPageRequest {
  field: CursorField
  query: Pick<HistoryQuery, 'before' | 'limit'>
  /** The order of the pages, if this attempt finds older messages. */
  order?: HistoryOrder
  /** Whether a service that compares times would skip the remaining messages of the oldest time. */
  skipsEqualTimes: boolean
}

/** Maximum page size, for many messages with the same time. */
const largest = 1000

/**
 * The ways to request older messages, best first. Many services map an ID to the time of its message
 * and skip all messages of that time. So the cursor is the oldest message with a *later* time than the
 * oldest one; the few repeated messages are recognized. If a full page has only one time, a larger page
 * is requested, and finally the oldest message itself is the cursor. A page that is not full was limited
 * by the service, for example because of long messages, so a larger page would not help.
 */
export function attemptsToStepBack(position: HistoryPosition, limit: number | undefined): OlderPageRequest[] {
  const { cursor, oldest, later, laterIsOfPage, time, count, order, assumed, newestEnd } = position
  const fields: CursorField[] = cursor === 'id' ? ['id', 'created_at'] : ['created_at', 'id']
  const attempts: OlderPageRequest[] = []
  const add = (
    field: CursorField,
    before: string | undefined,
    more: Partial<OlderPageRequest> & { limit?: number },
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
  // The order is unknown, and the page may have been read from the wrong end.
  if (order === undefined)
    for (const field of fields)
      add(field, newestEnd?.[field], { order: assumed === 'oldest first' ? 'newest first' : 'oldest first' })
  return attempts
}
