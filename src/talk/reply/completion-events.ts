import type { Completion } from '../../contract/completion.ts'
import { reasoningIn } from '../../contract/reasoning.ts'
import type { StreamEvent } from '../../contract/stream-event.ts'

/** A completion as the events of a stream that arrives at once. */
export function* completionEvents(body: Completion | undefined): Generator<StreamEvent, void> {
  const choices = Array.isArray(body?.choices) ? body.choices : []
  const choice = choices.find(({ message }) => typeof message?.content === 'string') ?? choices[0]
  const text = choice?.message?.content ?? ''
  const reasoning = reasoningIn(choice?.message)
  const id = body?.id ?? undefined
  const model = body?.model ?? undefined
  const finishReason = choice?.finish_reason ?? undefined
  const usage = body?.usage
  yield { type: 'start', ...(id !== undefined && { id }), ...(model !== undefined && { model }) }
  if (reasoning !== undefined) yield { type: 'reasoning', text: reasoning }
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
