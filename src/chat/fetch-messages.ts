import type { Client } from '../client/client.ts'
import { Failure } from '../contract/failure.ts'
import type { Message } from '../contract/resources/completion.ts'
import { toMessages } from './conversation.ts'

/**
 * Fetches all messages of a context of the service, oldest first.
 *
 * @throws Failure of the service; the reason of the signal
 */
export async function fetchMessages(
  client: Client,
  contextId: string,
  signal: AbortSignal,
): Promise<Message[]> {
  const pages: Message[][] = []
  for await (const { messages } of client.history.pages({ context_id: contextId }, { signal })) {
    pages.unshift(messages.flatMap(toMessages))
  }
  return pages.flat()
}

export function noMessages(contextId: string): Failure {
  return new Failure('not_found', `No messages of context "${contextId}" in the history of the service`, {
    advice: [{ code: 'list_sessions' }],
  })
}
