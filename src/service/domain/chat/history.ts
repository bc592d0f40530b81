import { sql } from 'kysely'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../../../contract/resources/conversation.ts'
import { invalidRequest } from '../../api-error.ts'
import type { ReserveMemory } from '../../limits/memory-budget.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Database, MessageRow } from '../../store/tables.ts'
import { countEscapes, findContext, maxJsonBytes } from './contexts.ts'

/** The default of `limit`. */
const defaultLimit = 20

/** Maximum bytes of text on a page. A single message that is longer has a page for itself. */
const maxPageBytes = 4 * 1024 * 1024

/**
 * A page of a user's messages, oldest first. It ends before the message whose id is `before`, or with the
 * newest one. Without a context, it has messages of all contexts of the user. With long messages, a page
 * is shorter than `limit`.
 * @throws ApiError `context_not_found`; `invalid_request` for a `before` that is not a message there;
 * as `reserve`
 */
export async function listHistory(
  db: Database,
  userId: string,
  query: HistoryQuery,
  reserve: ReserveMemory,
): Promise<HistoryPage> {
  const { context_id, before, limit = defaultLimit } = query
  if (context_id !== undefined) await findContext(db, userId, context_id)
  const seq =
    before === undefined ? Number.MAX_SAFE_INTEGER : await findCursor(db, userId, context_id, before)
  // One more than requested shows whether there are older messages.
  const bounds = { userId, seq, count: limit + 1 }
  const sizes =
    context_id === undefined
      ? await measureOfUser(db, bounds)
      : await measureOfContext(db, { ...bounds, contextId: context_id })
  const [newest] = sizes
  if (!newest) return { messages: [], has_more: false }
  const { oldest, count, bytes } = fitPage(sizes, limit, newest)
  await reserve(bytes)
  const page = { userId, from: oldest.seq, to: newest.seq }
  const rows =
    context_id === undefined
      ? await selectOfUser(db, page)
      : await selectOfContext(db, { ...page, contextId: context_id })
  const first = fitJson(rows)
  return { messages: rows.slice(first).map(present), has_more: sizes.length > count || first > 0 }
}

/** The position of a message, and the bytes of its text. */
interface Size {
  seq: number
  size: number
}

/**
 * How many messages fit on a page, at least one.
 * @param sizes newest first
 */
function fitPage(sizes: readonly Size[], limit: number, newest: Size) {
  const page = { oldest: newest, count: 1, bytes: newest.size }
  for (const one of sizes.slice(1, limit)) {
    if (page.bytes + one.size > maxPageBytes) break
    page.oldest = one
    page.count += 1
    page.bytes += one.size
  }
  return page
}

/** @returns the index of the first message with which the page is not too long as JSON; the newest always fits */
function fitJson(rows: readonly { content: string }[]): number {
  let bytes = 0
  for (const [index, { content }] of [...rows.entries()].reverse()) {
    bytes += Buffer.byteLength(content) + countEscapes(content)
    if (bytes > maxJsonBytes) return Math.min(index + 1, rows.length - 1)
  }
  return 0
}

/** The position of a message in the order of all messages. */
async function findCursor(
  db: Database,
  userId: string,
  contextId: string | undefined,
  id: string,
): Promise<number> {
  const [message] = await selectPosition(db, { id, userId })
  if (message && (contextId === undefined || message.context_id === contextId)) return message.seq
  throw invalidRequest([{ path: 'before', message: 'is not the id of a message in this history' }])
}

const selectPosition = prepareQuery((db, { id, userId }: { id: string; userId: string }) =>
  db.selectFrom('messages').select(['seq', 'context_id']).where('id', '=', id).where('user_id', '=', userId),
)

/** Messages before a position. */
interface PageBounds {
  userId: string
  seq: number
  count: number
}

/** Newest first. Neither engine reads a long text to determine its length. */
const newestBefore = (db: Database, { seq, count }: PageBounds) =>
  db
    .selectFrom('messages')
    .select(['seq', sql<number>`octet_length(content)`.as('size')])
    .where('seq', '<', seq)
    .orderBy('seq', 'desc')
    .limit(count)

const measureOfUser = prepareQuery((db, bounds: PageBounds) =>
  newestBefore(db, bounds).where('user_id', '=', bounds.userId),
)

const measureOfContext = prepareQuery((db, bounds: PageBounds & { contextId: string }) =>
  newestBefore(db, bounds).where('context_id', '=', bounds.contextId),
)

/** Messages from one position to another, inclusive. */
interface RowRange {
  userId: string
  from: number
  to: number
}

const historyColumns = ['id', 'content', 'role', 'created_at', 'incomplete'] as const

/** Oldest first. */
const partOf = (db: Database, { from, to }: RowRange) =>
  db
    .selectFrom('messages')
    .select(historyColumns)
    .where('seq', '>=', from)
    .where('seq', '<=', to)
    .orderBy('seq')

const selectOfUser = prepareQuery((db, part: RowRange) => partOf(db, part).where('user_id', '=', part.userId))

const selectOfContext = prepareQuery((db, part: RowRange & { contextId: string }) =>
  partOf(db, part).where('context_id', '=', part.contextId),
)

function present({
  id,
  content,
  role,
  created_at,
  incomplete,
}: Pick<MessageRow, (typeof historyColumns)[number]>): HistoryMessage {
  return { id, content, role, created_at, ...(incomplete && { incomplete: true }) }
}
