import { endOfReply } from '../../../contract/reply/reply-end.ts'
import type { Completion, CompletionRequest, Message, Model } from '../../../contract/resources/completion.ts'
import type { SendRequest, SendResponse } from '../../../contract/resources/conversation.ts'
import { type Clock, isoNow } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import type { ModelRequest, ReplySource } from '../../replies/reply-source.ts'
import type { Database } from '../../store/tables.ts'
import { withStored } from '../../to-api-error.ts'
import { createId } from '../identifiers.ts'
import type { EffectiveSettings } from '../settings.ts'
import { type Exchange, readConversation, storeExchange } from './conversations.ts'

/** A validated request. */
export type MessageRequest = SendRequest & { message: string }

export interface RequestContext {
  /** Aborted when the client disconnects or the service stops. */
  signal: AbortSignal
  clock: Clock
}

export interface MessageContext extends RequestContext {
  db: Database
  replySource: ReplySource
  settings: EffectiveSettings
  userId: string
}

/** An exchange before the model replies. */
export interface PreparedExchange {
  exchange: Omit<Exchange, 'reply' | 'incomplete' | 'finishReason' | 'createdAt'>
  modelRequest: ModelRequest
}

/**
 * Finds the conversation, or creates the id of a new one, and prepares the whole conversation for the model.
 * Nothing is stored yet.
 * @throws ApiError `context_not_found`, `context_too_long`, `feature_disabled`
 */
export async function prepareExchange(
  { message, context_id, model, response_format }: MessageRequest,
  { db, replySource, settings, userId, signal, clock }: MessageContext,
): Promise<PreparedExchange> {
  requireChat(settings)
  const sentAt = isoNow(clock)
  const messages: Message[] =
    context_id === undefined
      ? [{ role: 'user', content: message }]
      : await readConversation(db, userId, context_id, message)
  const chosen = model ?? (await replySource.defaultModel(signal))
  return {
    exchange: {
      userId,
      contextId: context_id ?? createId('ctx'),
      isNewContext: context_id === undefined,
      messageId: createId('msg'),
      replyId: createId('msg'),
      message,
      model: chosen,
      sentAt,
    },
    modelRequest: {
      model: chosen,
      messages,
      ...limitTokens(settings),
      response_format,
    },
  }
}

/** Sends a message and waits for the whole reply. If it fails, nothing is stored. */
export async function sendMessage(sent: MessageRequest, context: MessageContext): Promise<SendResponse> {
  const { db, replySource, signal, clock } = context
  const nothingStored = (error: unknown) => Promise.reject(withStored(error, false))
  const { exchange, modelRequest } = await prepareExchange(sent, context).catch(nothingStored)
  const { choices, model, usage } = await replySource.complete(modelRequest, signal).catch(nothingStored)
  const { message, finish_reason = 'stop', tools } = choices[0] ?? {}
  const response = storableText(message?.content ?? '')
  const reply = {
    reply: response,
    incomplete: false,
    model,
    finishReason: finish_reason,
    createdAt: isoNow(clock),
  }
  const created_at = await storeExchange(db, { ...exchange, ...reply })
  const ended = { finish_reason, end: endOfReply(finish_reason, response), ...(tools && { tools }) }
  const { replyId: id, contextId: context_id } = exchange
  return { id, response, context_id, created_at, ...ended, model, usage }
}

/** The lists of models and messages can be read even if chat is off. @throws ApiError `feature_disabled` */
export function requireChat({ features }: EffectiveSettings): void {
  if (features.chat) return
  throw new ApiError(
    'feature_disabled',
    'Chat is turned off in the settings of the service (features.chat)',
    { details: { feature: 'chat' } },
  )
}

/** How many tokens a completion may generate: as requested, and at most as the settings allow. */
export const limitTokens = ({ limits: { max_tokens: most } }: EffectiveSettings, wanted?: number) =>
  wanted === undefined ? { default_max_tokens: most } : { max_tokens: Math.min(wanted, most) }

/** The request to the model for a completion. @throws ApiError `feature_disabled` */
export async function prepareCompletion(
  replySource: ReplySource,
  settings: EffectiveSettings,
  request: CompletionRequest & { messages: Message[] },
  signal: AbortSignal,
): Promise<ModelRequest> {
  requireChat(settings)
  const { messages, temperature, response_format } = request
  const limit = limitTokens(settings, request.max_tokens)
  const model = request.model ?? (await replySource.defaultModel(signal))
  return { model, messages, temperature, ...limit, response_format }
}

/** One stateless completion. Nothing is stored. @throws ApiError as `prepareCompletion` */
export async function complete(
  replySource: ReplySource,
  settings: EffectiveSettings,
  request: CompletionRequest & { messages: Message[] },
  signal: AbortSignal,
): Promise<Completion> {
  const modelRequest = await prepareCompletion(replySource, settings, request, signal)
  const { choices: made, ...result } = await replySource.complete(modelRequest, signal)
  const endOf = ({ finish_reason, message }: (typeof made)[number]) =>
    endOfReply(finish_reason, message.content)
  const choices = made.map((choice) => ({ ...choice, end: endOf(choice) }))
  return { id: createId('chatcmpl'), object: 'chat.completion', ...result, choices }
}

export async function listModels(replySource: ReplySource, signal: AbortSignal): Promise<{ data: Model[] }> {
  const models = await replySource.listModels(signal)
  return { data: models.map(({ id, created, object, owned_by }) => ({ id, created, object, owned_by })) }
}

/** @throws ApiError `model_not_found` */
export async function findModel(replySource: ReplySource, id: string, signal: AbortSignal): Promise<Model> {
  const model = (await replySource.listModels(signal)).find((listed) => listed.id === id)
  if (!model) throw new ApiError('model_not_found', `No model ${id}`)
  return model
}

/**
 * The text of a model as the history can store it, so that the response and the history are the same. On
 * Node 22, SQLite truncates text at U+0000; PostgreSQL refuses it; UTF-8 has no lone surrogates.
 */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** `storableText` for a text in parts, of which two may share a surrogate pair. */
export class StorableStream {
  /** The first half of a surrogate pair. */
  #held = ''

  /** Returns the text of a part, without a trailing half of a surrogate pair. */
  take(piece: string): string {
    const text = this.#held + piece
    const end = endsInHighSurrogate(text) ? text.length - 1 : text.length
    this.#held = text.slice(end)
    return storableText(text.slice(0, end))
  }

  /** Returns the rest if no part follows. */
  end(): string {
    return storableText(this.#held)
  }
}

const endsInHighSurrogate = (text: string) => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
