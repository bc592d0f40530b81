import type { Completion, CompletionRequest, Message } from '../../contract/completion.ts'
import type { Model } from '../../contract/model.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { createId } from './identifiers.ts'

/** A request that has passed validation. */
type Order = CompletionRequest & { messages: Message[] }

/** One stateless completion; nothing of it is stored. */
export async function complete(upstream: Upstream, order: Order, signal: AbortSignal): Promise<Completion> {
  const { messages, temperature, max_tokens } = order
  const model = order.model ?? (await upstream.defaultModel(signal))
  const result = await upstream.complete({ model, messages, temperature, max_tokens }, signal)
  return { id: createId('chatcmpl'), object: 'chat.completion', ...result }
}

export async function listModels(upstream: Upstream, signal: AbortSignal): Promise<{ data: Model[] }> {
  return { data: await upstream.listModels(signal) }
}
