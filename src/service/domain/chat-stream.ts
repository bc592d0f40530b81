import type { Database } from '../store/tables.ts'
import type { Piece, Upstream } from '../upstream/upstream.ts'
import { type Asked, prepareExchange, type Sent } from './chat.ts'
import { type Exchange, storeExchange, updateAnswer } from './contexts.ts'
import type { SettingsInForce } from './settings.ts'

/** What a streamed answer consists of. `id` and `context_id` are in each, so that any one of them is enough. */
export type ChatEvent =
  | { event: 'delta'; data: { id: string; context_id: string; created_at: string; delta: string } }
  | {
      event: 'done'
      data: {
        id: string
        context_id: string
        created_at: string
        response: string
        model: string
        finish_reason: string
      }
    }

/**
 * Sends a message and yields the answer as it arrives. With its first piece the exchange is stored,
 * marked incomplete; when it ends, for whatever reason, what arrived is. An answer that fails
 * before its first piece leaves nothing behind.
 */
export async function* streamMessage(
  db: Database,
  upstream: Upstream,
  settings: SettingsInForce,
  userId: string,
  sent: Sent,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  const { exchange, order } = await prepareExchange(db, upstream, settings, userId, sent, signal)
  let stored: Exchange | undefined
  try {
    for await (const piece of upstream.stream(order, signal)) {
      const answer = stored ?? begin(exchange)
      take(answer, piece)
      if (!stored) await storeExchange(db, answer)
      stored = answer
      if (piece.kind === 'delta') yield { event: 'delta', data: { ...shared(answer), delta: piece.text } }
    }
  } finally {
    if (stored) await updateAnswer(db, stored)
  }
  if (stored) yield finished(stored)
}

function begin(exchange: Asked['exchange']): Exchange {
  return {
    ...exchange,
    answer: '',
    incomplete: true,
    finishReason: null,
    createdAt: new Date().toISOString(),
  }
}

function take(answer: Exchange, piece: Piece): void {
  answer.model = piece.model
  if (piece.kind === 'delta') {
    answer.answer += piece.text
  } else {
    answer.incomplete = false
    answer.finishReason = piece.reason
  }
}

const shared = ({ answerId, contextId, createdAt }: Exchange) => ({
  id: answerId,
  context_id: contextId,
  created_at: createdAt,
})

function finished(answer: Exchange): ChatEvent {
  const { answer: response, model, finishReason } = answer
  return {
    event: 'done',
    data: { ...shared(answer), response, model, finish_reason: finishReason ?? 'stop' },
  }
}
