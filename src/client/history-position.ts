import type { HistoryOrder } from '../contract/history-order.ts'

/** The field of a message that `before` takes. */
export type CursorField = 'id' | 'created_at'

/** What `before` may hold, of the first messages that have it. */
export interface Anchor {
  id?: string
  created_at?: string
}

/** Where a walk is: plain data, to be kept and gone on from. */
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
