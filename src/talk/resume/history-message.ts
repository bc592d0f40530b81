import type { Message } from '../../contract/completion.ts'
import type { HistoryMessage } from '../../contract/conversation.ts'

/** A message of the history as one of a conversation; none where it is not one of the three roles'. */
export function asMessage({ role, content }: HistoryMessage): Message[] {
  if (typeof content !== 'string') return []
  return role === 'user' || role === 'assistant' || role === 'system' ? [{ role, content }] : []
}
