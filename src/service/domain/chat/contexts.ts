import { sql } from 'kysely'
import type { Message } from '../../../contract/resources/completion.ts'
import { ApiError } from '../../api-error.ts'
import type { ReserveMemory } from '../../limits/memory-budget.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Database } from '../../store/tables.ts'

/** @throws ApiError `context_not_found`, also for the context of another user */
export async function findContext(db: Database, userId: string, id: string): Promise<void> {
  const [found] = await selectContext(db, { id, userId })
  if (!found) throw contextNotFound(id)
}

const contextNotFound = (id: string) => new ApiError('context_not_found', `Context "${id}" not found`)

const selectContext = prepareQuery((db, { id, userId }: { id: string; userId: string }) =>
  db.selectFrom('contexts').select('id').where('id', '=', id).where('user_id', '=', userId),
)

/** Maximum size of a conversation that is sent to a model, with the new message. Models accept a fraction of it. */
const maxConversation = { bytes: 4 * 1024 * 1024, messages: 10_000 }

/** Maximum bytes of texts as JSON: twice the text, because few texts have many control characters, of six bytes each. */
export const maxJsonBytes = 8 * 1024 * 1024

/**
 * The whole conversation of a user's context for the model, oldest first, without empty replies.
 * @param added bytes of the new message
 * @throws ApiError `context_not_found`, also for the context of another user; `context_too_long`; as `reserve`
 */
export async function readConversation(
  db: Database,
  userId: string,
  contextId: string,
  added: number,
  reserve: ReserveMemory,
): Promise<Message[]> {
  await findContext(db, userId, contextId)
  const [{ bytes = 0, messages = 0 } = {}] = await measureContext(db, { contextId })
  if (bytes + added > maxConversation.bytes || messages > maxConversation.messages) {
    throw contextTooLong()
  }
  await reserve(bytes)
  const earlier = await selectConversation(db, { contextId })
  const escapes = earlier.reduce((sum, { content }) => sum + countEscapes(content ?? ''), 0)
  if (bytes + escapes > maxJsonBytes) throw contextTooLong()
  return withoutEmptyReplies(earlier)
}

/**
 * Omits an exchange without a reply, for example one that was stopped while the model was thinking: some
 * models refuse an empty message, or two messages of a user in a row.
 */
const withoutEmptyReplies = (messages: readonly Message[]): Message[] =>
  messages.filter(({ content }, index) => content !== '' && messages[index + 1]?.content !== '')

const contextTooLong = () =>
  new ApiError(
    'context_too_long',
    'The conversation would exceed 4 MiB of text, 8 MiB of JSON, or 10,000 messages; start a new one',
  )

/** How many bytes longer a text is as JSON (RFC 8259 section 7). Does not write the JSON. */
export function countEscapes(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20) count += shortEscapes.has(code) ? 1 : 5
    else if (code === 0x22 || code === 0x5c) count += 1
  }
  return count
}

const shortEscapes = new Set([...'\b\t\n\f\r'].map((character) => character.charCodeAt(0)))

/** Reads at most as many messages as a conversation may have, so that a longer one takes no longer. */
const measureContext = prepareQuery((db, { contextId }: { contextId: string }) =>
  db
    .selectFrom((from) =>
      from
        .selectFrom('messages')
        .select(sql<number>`octet_length(content)`.as('size'))
        .where('context_id', '=', contextId)
        .limit(maxConversation.messages + 1)
        .as('sizes'),
    )
    .select([sql<number>`coalesce(sum(size), 0)`.as('bytes'), sql<number>`count(*)`.as('messages')]),
)

const selectConversation = prepareQuery((db, { contextId }: { contextId: string }) =>
  db.selectFrom('messages').select(['role', 'content']).where('context_id', '=', contextId).orderBy('seq'),
)

/** A message and its reply, which are adjacent in the history. */
export interface Exchange {
  userId: string
  contextId: string
  /** Whether the context is created with the exchange. */
  isNewContext: boolean
  messageId: string
  /** The id of the assistant's message. */
  replyId: string
  message: string
  /** See `storableText`. */
  reply: string
  /** Whether the reply is still arriving or was truncated. */
  incomplete: boolean
  model: string
  finishReason: string | null
  sentAt: string
  /** When the reply began. */
  createdAt: string
}

/** Stores both messages, and a new context, in one transaction. */
export function storeExchange(db: Database, exchange: Exchange): Promise<void> {
  const stored = { ...exchange, incomplete: exchange.incomplete ? 1 : 0 }
  return db.transaction().execute(async (transaction) => {
    if (exchange.isNewContext) await insertContext(transaction, stored)
    else await lockContext(transaction, stored)
    await insertMessages(transaction, stored)
  })
}

const insertContext = prepareQuery((db, { contextId, userId, sentAt }: ExchangeRow) =>
  db.insertInto('contexts').values({ id: contextId, user_id: userId, created_at: sentAt }),
)

/** Without this lock, PostgreSQL could interleave the rows of two concurrent exchanges in one context. */
const lockContext = prepareQuery((db, { contextId }: Pick<ExchangeRow, 'contextId'>) =>
  db.selectFrom('contexts').select('id').where('id', '=', contextId).forUpdate(),
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
