import { endOfReply } from '../../../contract/reply/reply-end.ts'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../../../contract/resources/conversation.ts'
import { invalidRequest } from '../../api-error.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Database, MessageRow } from '../../store/tables.ts'
import { findContext } from './conversations.ts'

const defaultLimit = 20

/**
 * A page of a user's messages, oldest first. It ends before the message whose id is `before`, or with the
 * newest one. Without a conversation, it has messages of all conversations of the user.
 * @throws ApiError `context_not_found`; `invalid_request` for a `before` that is not a message there
 */
export async function listHistory(db: Database, userId: string, query: HistoryQuery): Promise<HistoryPage> {
  const { context_id: contextId, before, limit = defaultLimit } = query
  if (contextId !== undefined) await findContext(db, userId, contextId)
  const seq = before === undefined ? Number.MAX_SAFE_INTEGER : await findCursor(db, userId, contextId, before)
  // One more than requested shows whether there are older messages.
  const bounds = { seq, count: limit + 1 }
  const rows =
    contextId === undefined
      ? await selectOfUser(db, { ...bounds, userId })
      : await selectOfContext(db, { ...bounds, contextId })
  return { messages: rows.slice(0, limit).reverse().map(present), has_more: rows.length > limit }
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
  seq: number
  count: number
}

const historyColumns = [
  'id',
  'content',
  'role',
  'created_at',
  'context_id',
  'incomplete',
  'finish_reason',
] as const

const newestBefore = (db: Database, { seq, count }: PageBounds) =>
  db.selectFrom('messages').select(historyColumns).where('seq', '<', seq).orderBy('seq', 'desc').limit(count)

const selectOfUser = prepareQuery((db, bounds: PageBounds & { userId: string }) =>
  newestBefore(db, bounds).where('user_id', '=', bounds.userId),
)

const selectOfContext = prepareQuery((db, bounds: PageBounds & { contextId: string }) =>
  newestBefore(db, bounds).where('context_id', '=', bounds.contextId),
)

function present({
  id,
  content,
  role,
  created_at,
  context_id,
  incomplete,
  finish_reason: reason,
}: Pick<MessageRow, (typeof historyColumns)[number]>): HistoryMessage {
  const end = reason === null ? {} : { end: endOfReply(reason, content) }
  return { id, content, role, created_at, context_id, ...(incomplete && { incomplete: true }), ...end }
}
