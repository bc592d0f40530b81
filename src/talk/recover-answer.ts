import type { Client } from '../client/client.ts'
import type { HistoryMessage } from '../contract/conversation.ts'
import { Failure } from '../failure.ts'

/** What the history says about an answer that did not come whole. */
export type Recovery =
  /** It holds more than came; `rest` is what follows. */
  | { kind: 'more'; text: string; rest: string }
  | { kind: 'same' }
  /** It holds no such answer, or another one. */
  | { kind: 'absent' }
  | { kind: 'unknown'; reason: string }

/**
 * Asks GET /api/chat/history whether the service finished an answer of which a part came. Only
 * reads: nothing is sent again.
 *
 * @throws what aborted the signal
 */
export async function recoverAnswer(
  client: Client,
  asked: { contextId: string; prompt: string; part: string; answerId: string | undefined },
  signal: AbortSignal,
): Promise<Recovery> {
  try {
    const pages = client.history.pages({ context_id: asked.contextId, limit: 20 }, { signal })
    const newest = await pages.next()
    const messages: readonly HistoryMessage[] = newest.done ? [] : newest.value.messages
    const index = messages.findLastIndex(({ role, content }) => role === 'user' && content === asked.prompt)
    const named = messages.find(({ id }) => id !== undefined && id === asked.answerId)
    const following = index < 0 ? [] : messages.slice(index + 1)
    const text = (named ?? following.find(({ role }) => role === 'assistant'))?.content
    if (typeof text !== 'string' || !text.startsWith(asked.part)) return { kind: 'absent' }
    if (text === asked.part) return { kind: 'same' }
    return { kind: 'more', text, rest: text.slice(asked.part.length) }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { kind: 'unknown', reason: error.message }
  }
}
