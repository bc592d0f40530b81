import type { Client } from '../../client/client.ts'
import type { Message } from '../../contract/completion.ts'
import type { HistoryMessage } from '../../contract/conversation.ts'
import { Failure } from '../../contract/failure.ts'

/** An answer of which only a part came. */
export interface PartialReply {
  prompt: string
  part: string
  /** The service's id of it, where it said one. */
  replyId: string | undefined
}

/** What the history says about an answer that did not come whole. */
type Recovery =
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
export async function recoverReply(
  client: Client,
  asked: {
    contextId: string
    prompt: string
    part: string
    replyId: string | undefined
    /** All that was said here, to tell an earlier answer to the same words. */
    said: readonly Message[]
  },
  signal: AbortSignal,
): Promise<Recovery> {
  try {
    const pages = client.history.pages({ context_id: asked.contextId, limit: 20 }, { signal })
    const newest = await pages.next()
    const messages: readonly HistoryMessage[] = newest.done ? [] : newest.value.messages
    const replies = messages.filter(({ role }) => role === 'assistant')
    const named = replies.find(({ id }) => id !== undefined && id === asked.replyId)
    const found = repliesTo(asked.prompt, messages)
    const text = named?.content ?? found.at(-1)
    if (typeof text !== 'string' || !text.startsWith(asked.part)) return { kind: 'absent' }
    const times = (texts: readonly unknown[]) => texts.filter((one) => one === text).length
    if (!named && times(found) <= times(repliesTo(asked.prompt, asked.said.slice(0, -1)))) {
      return { kind: 'absent' }
    }
    if (text === asked.part) return { kind: 'same' }
    return { kind: 'more', text, rest: text.slice(asked.part.length) }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { kind: 'unknown', reason: error.message }
  }
}

/** The first answer behind each question of these words. */
function repliesTo(prompt: string, messages: readonly Pick<HistoryMessage, 'role' | 'content'>[]): unknown[] {
  return messages.flatMap(({ role, content }, index) => {
    if (role !== 'user' || content !== prompt) return []
    return [messages.slice(index + 1).find((next) => next.role === 'assistant')?.content]
  })
}
