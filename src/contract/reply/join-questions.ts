import type { Message } from '../resources/completion.ts'

/**
 * A conversation as a model receives it, without empty messages. A question whose reply has no text is still open, so
 * the next one contains it: some models refuse an empty message, or two messages of a user in a row. One whose reply
 * was stopped before its text is omitted.
 */
export function joinQuestions(messages: readonly (Message & { incomplete?: unknown })[]): Message[] {
  const joined: Message[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const reply = messages[index + 1]
    if (content.trim() === '' || (reply?.incomplete && reply.content.trim() === '')) continue
    const last = joined.at(-1)
    if (last?.role === 'user' && role === 'user') last.content += `\n\n${content}`
    else joined.push({ role, content })
  }
  return joined
}
