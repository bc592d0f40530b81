import type { Usage } from '../../contract/completion.ts'
import { isNumber } from '../../contract/exact-json.ts'
import type { Failure } from '../../contract/failure.ts'
import type { StreamEnd } from '../../contract/stream-event.ts'
import type { Conversation } from '../conversation.ts'

/** How a turn went. Times are milliseconds from sending; undefined where nothing came. */
export interface TurnOutcome {
  /** Undefined where no answer ended: it was stopped, or never began. */
  end: StreamEnd | undefined
  /** Why there is no answer at all. */
  failure: Failure | undefined
  usage: Usage | undefined
  firstMs: number | undefined
  totalMs: number
}

/**
 * The one line after an answer: model, tokens where the service counted them, time to the first
 * token and to the last, and where the conversation is.
 */
export function describeTurn(outcome: TurnOutcome, conversation: Conversation): string {
  const { usage, firstMs, totalMs, end } = outcome
  const parts = [
    conversation.replyModel ?? conversation.model,
    usage && describeUsage(usage),
    firstMs === undefined ? undefined : `first ${seconds(firstMs)}`,
    `total ${seconds(totalMs)}`,
    whereaboutsOf(conversation),
    end?.finishReason === 'length' ? 'truncated at the token limit' : undefined,
    end?.complete && !end.verified ? 'the service did not mark the end' : undefined,
  ]
  return parts.filter((part) => part !== undefined && part !== '').join(' · ')
}

function whereaboutsOf({ mode, contextId }: Conversation): string | undefined {
  if (mode === 'completions') return 'stored on this machine, not streamed'
  return contextId === undefined ? undefined : `context ${contextId}`
}

/** The service's own count; what it did not send is not guessed. */
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
