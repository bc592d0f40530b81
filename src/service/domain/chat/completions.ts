import type { Completion, CompletionRequest, Message } from '../../../contract/completion.ts'
import type { Model } from '../../../contract/model.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { createId } from '../identifiers.ts'
import type { SettingsInForce } from '../settings.ts'
import { capTokens, requireChat } from './chat.ts'

/** A request that has passed validation. */
type Order = CompletionRequest & { messages: Message[] }

/** One stateless completion; nothing of it is stored. @throws Refusal `feature_disabled` */
export async function complete(
  upstream: Upstream,
  settings: SettingsInForce,
  order: Order,
  signal: AbortSignal,
): Promise<Completion> {
  requireChat(settings)
  const { messages, temperature } = order
  const max_tokens = capTokens(settings, order.max_tokens)
  const model = order.model ?? (await upstream.defaultModel(signal))
  const result = await upstream.complete({ model, messages, temperature, max_tokens }, signal)
  return { id: createId('chatcmpl'), object: 'chat.completion', ...result }
}

export async function listModels(upstream: Upstream, signal: AbortSignal): Promise<{ data: Model[] }> {
  return { data: await upstream.listModels(signal) }
}
