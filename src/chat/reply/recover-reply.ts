import { Failure } from '../../contract/failure.ts'
import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import type { ConversationHost, PartialReply } from './conversation-mode.ts'

/**
 * Looks for the rest of an incomplete reply in the history of the service, and shows it.
 * @param next what happens if the history has no more
 * @returns whether the history had more
 */
export async function recover(
  session: ConversationHost,
  partial: PartialReply,
  next: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { conversation, output, status } = session
  const { prompt, part } = partial
  if (conversation.mode !== 'context' || conversation.contextId === undefined) return false
  status.begin('reading the history…')
  const found = await findReply(session, partial, conversation.contextId, signal)
  status.clear()
  if ('text' in found && found.text !== part) {
    output.note('[the rest of the reply, from the history of the service]')
    output.showReply(found.text.slice(part.length))
    if (part === '') conversation.add(prompt, found.text)
    else conversation.replaceLastReply(found.text)
    session.recorder.recovered(found.text)
    session.partialReply = undefined
    return true
  }
  const why = 'why' in found ? found.why : 'the history has no more of this reply'
  // Without a part, there is nothing to continue.
  output.note(`[${why}${part === '' ? '' : `; ${next}`}]`)
  return false
}

/**
 * Looks in GET /api/chat/history for the whole text of an incomplete reply. Only reads: nothing is
 * sent again.
 * @returns the text, which begins with the part that arrived, or why there is none
 * @throws the reason of the signal
 */
async function findReply(
  { client, conversation }: ConversationHost,
  { prompt, part, replyId }: PartialReply,
  contextId: string,
  signal: AbortSignal,
): Promise<{ text: string } | { why: string }> {
  const absent = { why: 'this reply is not in the history' }
  try {
    const pages = client.history.pages({ context_id: contextId, limit: 20 }, { signal })
    const newest = await pages.next()
    const messages: readonly HistoryMessage[] = newest.done ? [] : newest.value.messages
    const named = messages.find(({ role, id }) => role === 'assistant' && id !== undefined && id === replyId)
    const found = repliesTo(prompt, messages)
    const text = named?.content ?? found.at(-1)
    if (typeof text !== 'string' || !(text.startsWith(part) || part.startsWith(text))) return absent
    // An earlier reply to the same prompt may have the same text.
    const earlier = repliesTo(prompt, conversation.messages.slice(0, -1))
    const times = (texts: readonly unknown[]) => texts.filter((one) => one === text).length
    if (!named && times(found) <= times(earlier)) return absent
    // The service was killed, or its disk was full, after it had sent more.
    return text.length < part.length ? { why: 'the history has less of this reply than was shown' } : { text }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { why: `cannot read the history: ${error.message}` }
  }
}

/** The first reply after each message that equals the prompt. */
function repliesTo(prompt: string, messages: readonly Pick<HistoryMessage, 'role' | 'content'>[]): unknown[] {
  return messages.flatMap(({ role, content }, index) => {
    if (role !== 'user' || content !== prompt) return []
    return [messages.slice(index + 1).find((next) => next.role === 'assistant')?.content]
  })
}
