import { sql } from 'kysely'
import type { Message } from '../../contract/completion.ts'
import type { Database, MessageRow } from '../store/tables.ts'
import { Refusal } from './refusal.ts'

/** @throws Refusal `context_not_found`, for another user's context too */
export async function findContext(db: Database, userId: string, id: string): Promise<void> {
  const found = await db
    .selectFrom('contexts')
    .select('id')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (!found) throw notFound(id)
}

const notFound = (id: string) => new Refusal('context_not_found', `There is no context ${id}`)

/** The longest conversation that a model is sent, in bytes of text; models take a fraction of it. */
const longestConversation = 16 * 1024 * 1024

/**
 * The whole conversation of a user's context, oldest first, as a model takes it.
 * @throws Refusal `context_not_found`, for another user's context too; `context_too_long` for one
 * that would fill the memory
 */
export async function readConversation(db: Database, userId: string, contextId: string): Promise<Message[]> {
  const ofContext = db.selectFrom('messages').where('context_id', '=', contextId)
  const context = await db
    .selectFrom('contexts')
    .select(
      ofContext.select(sql<string | number>`coalesce(sum(octet_length(content)), 0)`.as('n')).as('size'),
    )
    .where('id', '=', contextId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (!context) throw notFound(contextId)
  if (Number(context.size) > longestConversation) {
    throw new Refusal('context_too_long', 'The conversation holds more than 16 MiB of text; begin a new one')
  }
  return ofContext.select(['role', 'content']).orderBy('seq').execute()
}

/** A message and its answer, which lie side by side in the history. */
export interface Exchange {
  userId: string
  contextId: string
  /** Whether the context is to be made along with the exchange. */
  opensContext: boolean
  messageId: string
  /** The id of the assistant's message. */
  answerId: string
  message: string
  answer: string
  /** Whether more of the answer may come, or it was cut off. */
  incomplete: boolean
  model: string
  finishReason: string | null
  askedAt: string
  /** When the answer began. */
  createdAt: string
}

/** Stores both messages, and the context when it is new: all of it or nothing. */
export function storeExchange(db: Database, exchange: Exchange): Promise<void> {
  const { userId, contextId, askedAt, createdAt } = exchange
  const shared = { context_id: contextId, user_id: userId }
  const message: Omit<MessageRow, 'seq'> = {
    ...shared,
    id: exchange.messageId,
    role: 'user',
    content: exchange.message,
    incomplete: 0,
    model: null,
    finish_reason: null,
    created_at: askedAt,
  }
  const answer: Omit<MessageRow, 'seq'> = {
    ...shared,
    id: exchange.answerId,
    role: 'assistant',
    content: storable(exchange.answer),
    incomplete: exchange.incomplete ? 1 : 0,
    model: exchange.model,
    finish_reason: exchange.finishReason,
    created_at: createdAt,
  }
  return db.transaction().execute(async (transaction) => {
    if (exchange.opensContext) {
      const context = { id: contextId, user_id: userId, created_at: askedAt }
      await transaction.insertInto('contexts').values(context).execute()
    } else {
      // PostgreSQL numbers rows of two such transactions as they come: without this one's turn, in between.
      const context = transaction.selectFrom('contexts').select('id').where('id', '=', contextId)
      await context.forUpdate().executeTakeFirst()
    }
    await transaction.insertInto('messages').values([message, answer]).execute()
  })
}

/** What has arrived of an answer that was stored when it began. */
export async function updateAnswer(
  db: Database,
  answer: Pick<Exchange, 'answerId' | 'answer' | 'incomplete' | 'model' | 'finishReason'>,
): Promise<void> {
  await db
    .updateTable('messages')
    .set({
      content: storable(answer.answer),
      incomplete: answer.incomplete ? 1 : 0,
      model: answer.model,
      finish_reason: answer.finishReason,
    })
    .where('id', '=', answer.answerId)
    .execute()
}

/** A model may say anything; a text column ends at U+0000 on Node 22 and cannot hold it in PostgreSQL. */
const storable = (text: string) => text.replaceAll('\0', '\ufffd')
