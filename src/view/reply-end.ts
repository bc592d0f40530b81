import { afterColon } from '../contract/failure.ts'
import { endOfReason } from '../contract/reply/reply-end.ts'
import type { StreamEnd } from '../contract/resources/stream-event.ts'

export type KnownEnd = Partial<Pick<StreamEnd, 'end' | 'finishReason' | 'tools' | 'usage'>>

/** Why a reply that arrived completely is not whole, in a sentence. Undefined for any other reply. */
export function describeReplyEnd({ end, tools = [] }: KnownEnd, hasReasoning: boolean): string | undefined {
  switch (end) {
    case 'length':
      return 'The reply stopped at the token limit'
    case 'filtered':
      return 'The content filter of the model stopped the reply'
    case 'refusal':
      return 'The model refused to reply'
    case 'tool_calls':
      return `The model called tools, and chatctl runs none${tools.length > 0 ? `: ${tools.join(', ')}` : ''}`
    case 'empty':
      return hasReasoning ? 'The model sent only reasoning, and no reply' : 'The reply is empty'
    default:
      return undefined
  }
}

/** The same below a reply, or that its finish reason is unknown. Undefined for a whole reply. */
export function noteReplyEnd(known: KnownEnd, hasReasoning: boolean): string | undefined {
  const unknown = unknownReasonOf(known)
  if (unknown !== undefined) return `ended with an unknown finish reason: ${unknown}`
  const words = describeReplyEnd(known, hasReasoning)
  return words && afterColon(words).replace(/^the reply (?=stopped)/, '')
}

/** A finish reason whose meaning is unknown, so that the reply counts as complete. */
export function unknownReasonOf({ end, finishReason = '' }: KnownEnd): string | undefined {
  return end === 'complete' && endOfReason(finishReason) === undefined ? finishReason || undefined : undefined
}

/** Whether a token limit of the user may be what stopped a reply: it has no fewer tokens, as far as they are known. */
export function isAtLimit({ usage }: KnownEnd, maxTokens: number | undefined): boolean {
  return maxTokens !== undefined && Number(usage?.completion_tokens || maxTokens) >= maxTokens
}
