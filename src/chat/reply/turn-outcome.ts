import type { Failure } from '../../contract/failure.ts'
import { isNumber } from '../../contract/notation/exact-json.ts'
import type { Usage } from '../../contract/resources/completion.ts'
import { isTokenLimit, type StreamEnd } from '../../contract/resources/stream-event.ts'
import type { Conversation } from '../conversation.ts'

/** The result of a turn. Times are milliseconds since the request was sent, undefined if nothing arrived. */
export interface TurnOutcome {
  /** Undefined if the reply was stopped or never began. */
  end: StreamEnd | undefined
  /** Why no reply arrived. */
  failure: Failure | undefined
  usage: Usage | undefined
  /** The context of the conversation, if this reply is the first one that names it. */
  newContextId: string | undefined
  /** How long reasoning arrived before the reply. */
  thoughtMs: number | undefined
  firstMs: number | undefined
  totalMs: number
}

/**
 * The line after a reply: model, token count if the service sent one, time of the reasoning, time to the
 * first and the last token, and where the conversation is stored, but a context only once.
 */
export function describeTurn(outcome: TurnOutcome, conversation: Conversation): string {
  const { usage, thoughtMs = 0, firstMs, totalMs, end } = outcome
  const parts = [
    conversation.replyModel ?? conversation.model,
    usage && describeUsage(usage),
    // If the reasoning and the reply arrive together, the time is unknown.
    thoughtMs < 100 ? undefined : `thought ${seconds(thoughtMs)}`,
    firstMs === undefined ? undefined : `first ${seconds(firstMs)}`,
    `total ${seconds(totalMs)}`,
    whereaboutsOf(conversation, outcome),
    isTokenLimit(end?.finishReason) ? 'truncated at the token limit' : undefined,
    end?.complete && !end.verified ? 'the service did not mark the end' : undefined,
  ]
  return parts.filter((part) => part !== undefined && part !== '').join(' · ')
}

function whereaboutsOf({ mode }: Conversation, { newContextId, end }: TurnOutcome): string | undefined {
  if (mode === 'completions') return `stored on this machine${end?.isWholeBody ? ', not streamed' : ''}`
  return newContextId === undefined ? undefined : `context ${newContextId}`
}

/** The token count of the service, as far as it sent one. */
function describeUsage({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total,
}: Usage): string {
  const known = isNumber
  if (known(prompt) && known(completion)) return `${prompt} + ${completion} tokens`
  if (known(total)) return `${total} tokens`
  if (known(completion)) return `${completion} tokens`
  return ''
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)}s`
}
