import type { Selectable } from 'kysely'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../../contract/conversation.ts'
import type { Database, MessageRow } from '../store/tables.ts'
import { findContext } from './contexts.ts'
import { invalidRequest } from './refusal.ts'

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
  let messages = db.selectFrom('messages').where('user_id', '=', userId)
  if (context_id !== undefined) messages = messages.where('context_id', '=', context_id)
  if (before !== undefined) {
    const cursor = await messages.select('seq').where('id', '=', before).executeTakeFirst()
    if (!cursor)
      throw invalidRequest([{ path: 'before', message: 'is not the id of a message in this history' }])
    messages = messages.where('seq', '<', cursor.seq)
  }
  // One more than asked for tells whether older ones remain.
  const rows = await messages
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(limit + 1)
    .execute()
  return { messages: rows.slice(0, limit).reverse().map(present), has_more: rows.length > limit }
}

function present({ id, content, role, created_at, incomplete }: Selectable<MessageRow>): HistoryMessage {
  return { id, content, role, created_at, ...(incomplete && { incomplete: true }) }
}
