import type { Completion, CompletionRequest, Message } from '../../../contract/completion.ts'
import type { SendRequest, SendResponse } from '../../../contract/conversation.ts'
import type { Model } from '../../../contract/model.ts'
import { type Clock, isoNow } from '../../../system/clock.ts'
import type { Hold } from '../../limits/memory-budget.ts'
import { Refusal } from '../../refusal.ts'
import type { Database } from '../../store/tables.ts'
import type { ModelRequest, Upstream } from '../../upstream/upstream.ts'
import { createId } from '../identifiers.ts'
import type { SettingsInForce } from '../settings.ts'
import { type Exchange, readConversation, storeExchange } from './contexts.ts'
import { storableText } from './storable-text.ts'

/** A request that has passed validation. */
export type MessageRequest = SendRequest & { message: string }

/** A request that is being answered. */
export interface RunningRequest {
  /** Aborted when the client goes away or the service stops. */
  signal: AbortSignal
  hold: Hold
  clock: Clock
}

/** Everything that is known about an exchange before the model says a word. */
export interface PreparedExchange {
  exchange: Omit<Exchange, 'answer' | 'incomplete' | 'finishReason' | 'createdAt'>
  modelRequest: ModelRequest
}

/**
 * Finds the context, or names a new one, and lays out the whole conversation for the model.
 * Nothing is stored yet.
 * @throws Refusal `context_not_found`, `context_too_long`, `feature_disabled`; as `hold`
 */
export async function prepareExchange(
  db: Database,
  upstream: Upstream,
  settings: SettingsInForce,
  userId: string,
  { message, context_id, model }: MessageRequest,
  { signal, hold, clock }: RunningRequest,
): Promise<PreparedExchange> {
  requireChat(settings)
  const askedAt = isoNow(clock)
  const earlier =
    context_id === undefined
      ? []
      : await readConversation(db, userId, context_id, Buffer.byteLength(message), hold)
  const chosen = model ?? (await upstream.defaultModel(signal))
  return {
    exchange: {
      userId,
      contextId: context_id ?? createId('ctx'),
      opensContext: context_id === undefined,
      messageId: createId('msg'),
      answerId: createId('msg'),
      message,
      model: chosen,
      askedAt,
    },
    modelRequest: {
      model: chosen,
      messages: [...earlier, { role: 'user', content: message }],
      max_tokens: capTokens(settings, undefined),
    },
  }
}

/** Sends a message and waits for the whole answer; an answer that fails leaves nothing behind. */
export async function sendMessage(
  db: Database,
  upstream: Upstream,
  settings: SettingsInForce,
  userId: string,
  sent: MessageRequest,
  running: RunningRequest,
): Promise<SendResponse> {
  const { exchange, modelRequest } = await prepareExchange(db, upstream, settings, userId, sent, running)
  const { choices, model } = await upstream.complete(modelRequest, running.signal)
  const response = storableText(choices[0]?.message.content ?? '')
  const createdAt = isoNow(running.clock)
  await storeExchange(db, {
    ...exchange,
    answer: response,
    incomplete: false,
    model,
    finishReason: choices[0]?.finish_reason ?? null,
    createdAt,
  })
  return { id: exchange.answerId, response, context_id: exchange.contextId, created_at: createdAt }
}

/** Reading models and history stays possible: only the model is not asked. @throws Refusal `feature_disabled` */
function requireChat({ features }: SettingsInForce): void {
  if (features.chat) return
  throw new Refusal('feature_disabled', 'Chat is turned off in the settings of the service (features.chat)', {
    details: { feature: 'chat' },
  })
}

/** How many tokens a completion may generate: what was asked for, and never more than the settings allow. */
const capTokens = ({ limits }: SettingsInForce, wanted: number | undefined): number =>
  Math.min(wanted ?? limits.max_tokens, limits.max_tokens)

/** One stateless completion; nothing of it is stored. @throws Refusal `feature_disabled` */
export async function complete(
  upstream: Upstream,
  settings: SettingsInForce,
  request: CompletionRequest & { messages: Message[] },
  signal: AbortSignal,
): Promise<Completion> {
  requireChat(settings)
  const { messages, temperature } = request
  const max_tokens = capTokens(settings, request.max_tokens)
  const model = request.model ?? (await upstream.defaultModel(signal))
  const result = await upstream.complete({ model, messages, temperature, max_tokens }, signal)
  return { id: createId('chatcmpl'), object: 'chat.completion', ...result }
}

export async function listModels(upstream: Upstream, signal: AbortSignal): Promise<{ data: Model[] }> {
  return { data: await upstream.listModels(signal) }
}
