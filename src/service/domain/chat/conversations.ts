import { joinQuestions } from '../../../contract/reply/join-questions.ts'
import type { Message } from '../../../contract/resources/completion.ts'
import { ApiError } from '../../api-error.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Database } from '../../store/tables.ts'

/** @throws ApiError `context_not_found`, also for the conversation of another user */
export async function findContext(db: Database, userId: string, id: string): Promise<void> {
  const [found] = await selectContext(db, { id, userId })
  if (!found) throw contextNotFound(id)
}

const contextNotFound = (id: string) => new ApiError('context_not_found', `Conversation "${id}" not found`)

const selectContext = prepareQuery((db, { id, userId }: { id: string; userId: string }) =>
  db.selectFrom('contexts').select('id').where('id', '=', id).where('user_id', '=', userId),
)

/** Maximum bytes of a conversation that is sent to a model, with the new message. Models accept a fraction of it. */
const maxConversation = 4 * 1024 * 1024

/**
 * The whole conversation of a user for the model, oldest first, and a new message.
 * @throws ApiError `context_not_found`, also for the conversation of another user; `context_too_long`
 */
export async function readConversation(
  db: Database,
  userId: string,
  contextId: string,
  message: string,
): Promise<Message[]> {
  await findContext(db, userId, contextId)
  const earlier = await selectConversation(db, { contextId })
  const all = [...earlier, { role: 'user' as const, content: message }]
  const bytes = all.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
  if (bytes <= maxConversation) return joinQuestions(all)
  throw new ApiError('context_too_long', 'The conversation would exceed 4 MiB of text; start a new one')
}

const selectConversation = prepareQuery((db, { contextId }: { contextId: string }) =>
  db
    .selectFrom('messages')
    .select(['role', 'content', 'incomplete'])
    .where('context_id', '=', contextId)
    .orderBy('seq'),
)

/** A message and its reply, which are adjacent in the history. */
export interface Exchange {
  userId: string
  contextId: string
  /** Whether the conversation is created with the exchange. */
  isNewContext: boolean
  messageId: string
  /** The id of the assistant's message. */
  replyId: string
  message: string
  /** See `storableText`. */
  reply: string
  /** Whether the reply is still arriving or ended early. */
  incomplete: boolean
  model: string
  finishReason: string | null
  sentAt: string
  /** When the reply began. */
  createdAt: string
}

/**
 * Stores both messages, and a new conversation, in one transaction. A message that was sent while the model replied
 * to another one gets a later time, so that also by time, each reply follows its message.
 * @returns the time of the reply
 */
export function storeExchange(db: Database, exchange: Exchange): Promise<string> {
  const stored = { ...exchange, incomplete: exchange.incomplete ? 1 : 0 }
  return db.transaction().execute(async (transaction) => {
    if (exchange.isNewContext) await insertContext(transaction, stored)
    else {
      await lockContext(transaction, stored)
      const [last] = await selectLastTime(transaction, stored)
      if (last && last.created_at > stored.sentAt) stored.sentAt = last.created_at
      if (stored.sentAt > stored.createdAt) stored.createdAt = stored.sentAt
    }
    await insertMessages(transaction, stored)
    return stored.createdAt
  })
}

const insertContext = prepareQuery((db, { contextId, userId, sentAt }: ExchangeRow) =>
  db.insertInto('contexts').values({ id: contextId, user_id: userId, created_at: sentAt }),
)

/** Without this lock, PostgreSQL could interleave the rows of two concurrent exchanges in one conversation. */
const lockContext = prepareQuery((db, { contextId }: Pick<ExchangeRow, 'contextId'>) =>
  db.selectFrom('contexts').select('id').where('id', '=', contextId).forUpdate(),
)

const selectLastTime = prepareQuery((db, { contextId }: Pick<ExchangeRow, 'contextId'>) =>
  db
    .selectFrom('messages')
    .select('created_at')
    .where('context_id', '=', contextId)
    .orderBy('seq', 'desc')
    .limit(1),
)

const insertMessages = prepareQuery((db, exchange: ExchangeRow) => {
  const shared = { context_id: exchange.contextId, user_id: exchange.userId }
  return db.insertInto('messages').values([
    {
      ...shared,
      id: exchange.messageId,
      role: 'user',
      content: exchange.message,
      incomplete: 0,
      model: null,
      finish_reason: null,
      created_at: exchange.sentAt,
    },
    {
      ...shared,
      id: exchange.replyId,
      role: 'assistant',
      content: exchange.reply,
      incomplete: exchange.incomplete,
      model: exchange.model,
      finish_reason: exchange.finishReason,
      created_at: exchange.createdAt,
    },
  ])
})

/** Stores the text of a reply that has arrived since `storeExchange`. */
export async function updateReply(
  db: Database,
  reply: Pick<Exchange, 'replyId' | 'reply' | 'incomplete' | 'model' | 'finishReason'>,
): Promise<void> {
  await updateMessage(db, { ...reply, incomplete: reply.incomplete ? 1 : 0 })
}

const updateMessage = prepareQuery(
  (db, reply: Pick<ExchangeRow, 'replyId' | 'reply' | 'incomplete' | 'model' | 'finishReason'>) =>
    db
      .updateTable('messages')
      .set({
        content: reply.reply,
        incomplete: reply.incomplete,
        model: reply.model,
        finish_reason: reply.finishReason,
      })
      .where('id', '=', reply.replyId),
)

/** An exchange with the types of the columns. */
type ExchangeRow = Omit<Exchange, 'incomplete'> & { incomplete: number }
