import type { Client } from '../../client/client.ts'
import type { Message } from '../../contract/completion.ts'
import type { HistoryMessage } from '../../contract/conversation.ts'
import { Failure } from '../../contract/failure.ts'

/** A reply of which only a part arrived. */
export interface PartialReply {
  prompt: string
  part: string
  /** The ID of the reply, if the service sent one. */
  replyId: string | undefined
}

/** What the history contains of an incomplete reply. */
type Recovery =
  /** More than arrived. `rest` follows the part that arrived. */
  | { kind: 'more'; text: string; rest: string }
  | { kind: 'same' }
  /** No such reply, or another one. */
  | { kind: 'absent' }
  | { kind: 'unknown'; reason: string }

/**
 * Looks in GET /api/chat/history for the whole text of an incomplete reply. Only reads: nothing is
 * sent again.
 *
 * @throws the reason of the signal
 */
export async function recoverReply(
  client: Client,
  partial: {
    contextId: string
    prompt: string
    part: string
    replyId: string | undefined
    /** All messages of this session, to recognize an earlier reply to the same prompt. */
    messagesHere: readonly Message[]
  },
  signal: AbortSignal,
): Promise<Recovery> {
  try {
    const pages = client.history.pages({ context_id: partial.contextId, limit: 20 }, { signal })
    const newest = await pages.next()
    const messages: readonly HistoryMessage[] = newest.done ? [] : newest.value.messages
    const replies = messages.filter(({ role }) => role === 'assistant')
    const named = replies.find(({ id }) => id !== undefined && id === partial.replyId)
    const found = repliesTo(partial.prompt, messages)
    const text = named?.content ?? found.at(-1)
    if (typeof text !== 'string' || !text.startsWith(partial.part)) return { kind: 'absent' }
    const times = (texts: readonly unknown[]) => texts.filter((one) => one === text).length
    if (!named && times(found) <= times(repliesTo(partial.prompt, partial.messagesHere.slice(0, -1)))) {
      return { kind: 'absent' }
    }
    if (text === partial.part) return { kind: 'same' }
    return { kind: 'more', text, rest: text.slice(partial.part.length) }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { kind: 'unknown', reason: error.message }
  }
}

/** The first reply after each message that equals the prompt. */
function repliesTo(prompt: string, messages: readonly Pick<HistoryMessage, 'role' | 'content'>[]): unknown[] {
  return messages.flatMap(({ role, content }, index) => {
    if (role !== 'user' || content !== prompt) return []
    return [messages.slice(index + 1).find((next) => next.role === 'assistant')?.content]
  })
}
