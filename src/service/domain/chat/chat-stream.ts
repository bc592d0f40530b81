import type { Database } from '../../store/tables.ts'
import type { Upstream, Usage } from '../../upstream/upstream.ts'
import type { SettingsInForce } from '../settings.ts'
import { AnswerRecord } from './answer-record.ts'
import { prepareExchange, type Running, type Sent } from './chat.ts'
import type { Exchange } from './contexts.ts'

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
        /** Only where the model server told. */
        usage?: Usage
      }
    }

/**
 * Sends a message and yields the answer as it arrives. With its first piece the exchange is stored,
 * marked incomplete; what arrives after that is stored now and then, and when it ends, for whatever
 * reason. An answer that fails before its first piece leaves nothing behind.
 */
export async function* streamMessage(
  db: Database,
  upstream: Upstream,
  settings: SettingsInForce,
  userId: string,
  sent: Sent,
  running: Running,
): AsyncGenerator<ChatEvent> {
  const { exchange, order } = await prepareExchange(db, upstream, settings, userId, sent, running)
  const { signal } = running
  let record: AnswerRecord | undefined
  let usage: Usage | undefined
  // A client that reads no more holds this generator back: what it was not sent is kept all the same.
  const keep = () => void record?.store().catch(() => {})
  signal.addEventListener('abort', keep)
  try {
    for await (const piece of upstream.stream(order, signal)) {
      record ??= new AnswerRecord(db, exchange)
      const delta = await record.take(piece)
      if (piece.kind === 'finish') usage = piece.usage
      if (delta !== '') yield { event: 'delta', data: { ...shared(record.exchange), delta } }
    }
  } finally {
    signal.removeEventListener('abort', keep)
    await record?.store()
  }
  if (record) yield finished(record.exchange, usage)
}

const shared = ({ answerId, contextId, createdAt }: Exchange) => ({
  id: answerId,
  context_id: contextId,
  created_at: createdAt,
})

function finished(answer: Exchange, usage: Usage | undefined): ChatEvent {
  const { answer: response, model, finishReason } = answer
  return {
    event: 'done',
    data: {
      ...shared(answer),
      response,
      model,
      finish_reason: finishReason ?? 'stop',
      ...(usage && { usage }),
    },
  }
}
