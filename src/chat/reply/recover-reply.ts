import type { Client } from '../../client/client.ts'
import { Failure } from '../../contract/failure.ts'
import type { Message } from '../../contract/resources/completion.ts'
import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import type { ConversationHost } from './conversation-mode.ts'

/** A reply of which only a part arrived, or was generated. */
export interface PartialReply {
  prompt: string
  part: string
  /** The ID of the reply, if the service sent one. */
  replyId: string | undefined
  /** Whether it ended at its token limit, so that the service has no more of it. */
  isAtLimit: boolean
}

/** The parts of a session that looking for the rest of a reply uses and changes. */
export interface RecoveryHost extends ConversationHost {
  /** The last reply, if it is incomplete. */
  partialReply: PartialReply | undefined
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
 * Looks for the rest of an incomplete reply in the history of the service, and shows it.
 *
 * @param next what happens if the history has no more
 * @returns whether the history had more
 */
export async function recover(
  session: RecoveryHost,
  partial: PartialReply,
  next: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { conversation, client } = session
  const { contextId } = conversation
  if (conversation.mode !== 'context' || contextId === undefined) return false
  session.status.begin('reading the history…')
  const recovery = await recoverReply(
    client,
    { ...partial, contextId, messagesHere: conversation.messages },
    signal,
  )
  session.status.clear()
  // Without a part, there is nothing to continue.
  const then = partial.part === '' ? '' : `; ${next}`
  switch (recovery.kind) {
    case 'more': {
      session.output.note('[the rest of the reply, from the history of the service]')
      session.output.showReply(recovery.rest)
      if (partial.part === '') conversation.add(partial.prompt, recovery.text)
      else conversation.replaceLastReply(recovery.text)
      session.recorder.recovered(recovery.text)
      session.partialReply = undefined
      return true
    }
    case 'same':
      session.output.note(`[the history has no more of this reply${then}]`)
      return false
    case 'absent':
      session.output.note(`[this reply is not in the history${then}]`)
      return false
    case 'unknown':
      session.output.note(`[cannot read the history: ${recovery.reason}${then}]`)
      return false
  }
}

/**
 * Looks in GET /api/chat/history for the whole text of an incomplete reply. Only reads: nothing is
 * sent again.
 *
 * @throws the reason of the signal
 */
async function recoverReply(
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
