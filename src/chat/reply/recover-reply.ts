import { Failure } from '../../contract/failure.ts'
import { toMessages } from '../conversation.ts'
import { joinMessages } from '../earlier-messages.ts'
import type { SaidMessage } from '../transcript/transcript.ts'
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
    if (part === '')
      conversation.messages.push(
        { role: 'user', content: prompt },
        { role: 'assistant', content: found.text },
      )
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
  { client, conversation: { messages } }: ConversationHost,
  { prompt, part }: PartialReply,
  contextId: string,
  signal: AbortSignal,
): Promise<{ text: string } | { why: string }> {
  try {
    const pages = client.history.pages({ context_id: contextId, limit: 20 }, { signal })
    const { value: newest } = await pages.next()
    const ours: SaidMessage[] = part === '' ? [...messages, { role: 'user', content: prompt }] : messages
    const joined = joinMessages(ours, (newest?.messages ?? []).flatMap(toMessages), false)
    const last = joined.findLastIndex(({ difference }) => difference !== 'service')
    const { message, difference } = joined[part === '' ? last + 1 : last] ?? {}
    // The service was killed, or its disk was full, after it had sent more.
    if (difference === 'shorter') return { why: 'the history has less of this reply than was shown' }
    const isAbsent =
      message?.role !== 'assistant' || difference === 'here' || joined[last]?.difference === 'here'
    return isAbsent ? { why: 'this reply is not in the history' } : { text: message.content }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { why: `cannot read the history: ${error.message}` }
  }
}
