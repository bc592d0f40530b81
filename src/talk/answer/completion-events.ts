import type { Client } from '../../client/client.ts'
import type { CompletionRequest } from '../../contract/completion.ts'
import type { StreamEvent } from '../../contract/stream-event.ts'

/** A completion, which comes in one piece, as the events of a stream that came at once. */
export async function* completionEvents(
  client: Client,
  request: CompletionRequest,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent, void> {
  const { body } = await client.chat.complete(request, { signal })
  const choices = Array.isArray(body?.choices) ? body.choices : []
  const choice = choices.find(({ message }) => typeof message?.content === 'string') ?? choices[0]
  const text = choice?.message?.content ?? ''
  const id = body?.id ?? undefined
  const model = body?.model ?? undefined
  const finishReason = choice?.finish_reason ?? undefined
  const usage = body?.usage
  yield { type: 'start', ...(id !== undefined && { id }), ...(model !== undefined && { model }) }
  if (text !== '') yield { type: 'delta', text }
  if (usage) yield { type: 'usage', usage }
  yield {
    type: 'end',
    complete: true,
    verified: true,
    ...(finishReason !== undefined && { finishReason }),
    ...(id !== undefined && { id }),
    text,
  }
}
