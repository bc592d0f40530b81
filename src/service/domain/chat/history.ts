import type { Selectable } from 'kysely'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../../../contract/conversation.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Database, MessageRow } from '../../store/tables.ts'
import { invalidRequest } from '../refusal.ts'
import { findContext } from './contexts.ts'

/** Messages on a page when `limit` is not given. */
const defaultLimit = 20

/**
 * A page of a user's messages, oldest first, ending just before the message whose id is `before`,
 * or with the newest one. Without a context: the messages of all of the user's contexts.
 * @throws Refusal `context_not_found`; `invalid_request` for a `before` that is not a message there
 */
export async function listHistory(db: Database, userId: string, query: HistoryQuery): Promise<HistoryPage> {
  const { context_id, before, limit = defaultLimit } = query
  if (context_id !== undefined) await findContext(db, userId, context_id)
  const seq =
    before === undefined ? Number.MAX_SAFE_INTEGER : await findCursor(db, userId, context_id, before)
  // One more than asked for tells whether older ones remain.
  const bounds = { userId, seq, count: limit + 1 }
  const rows =
    context_id === undefined
      ? await selectOfUser(db, bounds)
      : await selectOfContext(db, { ...bounds, contextId: context_id })
  return { messages: rows.slice(0, limit).reverse().map(present), has_more: rows.length > limit }
}

/** The place of a message in the order of them all. */
async function findCursor(
  db: Database,
  userId: string,
  contextId: string | undefined,
  id: string,
): Promise<number> {
  const [message] = await selectPlace(db, { id, userId })
  if (message && (contextId === undefined || message.context_id === contextId)) return message.seq
  throw invalidRequest([{ path: 'before', message: 'is not the id of a message in this history' }])
}

const selectPlace = prepareQuery((db, { id, userId }: { id: string; userId: string }) =>
  db.selectFrom('messages').select(['seq', 'context_id']).where('id', '=', id).where('user_id', '=', userId),
)

/** Messages before a place, newest first. */
interface Bounds {
  userId: string
  seq: number
  count: number
}

const newestBefore = (db: Database, { seq, count }: Bounds) =>
  db.selectFrom('messages').selectAll().where('seq', '<', seq).orderBy('seq', 'desc').limit(count)

const selectOfUser = prepareQuery((db, bounds: Bounds) =>
  newestBefore(db, bounds).where('user_id', '=', bounds.userId),
)

const selectOfContext = prepareQuery((db, bounds: Bounds & { contextId: string }) =>
  newestBefore(db, bounds).where('context_id', '=', bounds.contextId),
)

function present({ id, content, role, created_at, incomplete }: Selectable<MessageRow>): HistoryMessage {
  return { id, content, role, created_at, ...(incomplete && { incomplete: true }) }
}
