import { type Clock, isoNow } from '../../../system/clock.ts'
import type { Database } from '../../store/tables.ts'
import type { ReplyPart, TokenCounts, Upstream } from '../../upstream/upstream.ts'
import type { EffectiveSettings } from '../settings.ts'
import { type MessageRequest, type PreparedExchange, prepareExchange, type RequestContext } from './chat.ts'
import { type Exchange, storeExchange, updateReply } from './contexts.ts'
import { StorableStream } from './storable-text.ts'

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
        usage?: TokenCounts
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
  settings: EffectiveSettings,
  userId: string,
  sent: MessageRequest,
  context: RequestContext,
): AsyncGenerator<ChatEvent> {
  const { exchange, modelRequest } = await prepareExchange(db, upstream, settings, userId, sent, context)
  const { signal, clock } = context
  let record: StoredReply | undefined
  let usage: TokenCounts | undefined
  // A client that reads no more holds this generator back: what it was not sent is kept all the same.
  const keep = () => void record?.store().catch(() => {})
  signal.addEventListener('abort', keep)
  try {
    for await (const piece of upstream.stream(modelRequest, signal)) {
      record ??= new StoredReply(db, exchange, clock)
      const delta = await record.take(piece)
      if (piece.kind === 'finish') usage = piece.usage
      if (delta !== '') yield { event: 'delta', data: { ...idsOf(record.exchange), delta } }
    }
  } finally {
    signal.removeEventListener('abort', keep)
    await record?.store()
  }
  if (record) yield doneEvent(record.exchange, usage)
}

const idsOf = ({ replyId, contextId, createdAt }: Exchange) => ({
  id: replyId,
  context_id: contextId,
  created_at: createdAt,
})

function doneEvent(exchange: Exchange, usage: TokenCounts | undefined): ChatEvent {
  const { reply: response, model, finishReason } = exchange
  return {
    event: 'done',
    data: {
      ...idsOf(exchange),
      response,
      model,
      finish_reason: finishReason ?? 'stop',
      ...(usage && { usage }),
    },
  }
}

/** How often, in ms, what has arrived is stored while more is coming. */
const storeInterval = 2_000

/** An answer that arrives in pieces, and what of it lies in the store. */
export class StoredReply {
  readonly exchange: Exchange
  readonly #db: Database
  readonly #clock: Clock
  readonly #text = new StorableStream()
  #isStored = false
  /** Something was taken since the last write. */
  #isDue = false
  #storedAt = 0
  /** The last write: they go one after the other, so that no older one comes to lie on top. */
  #writing: Promise<void> = Promise.resolve()
  /** A write that nobody waits for. */
  #meanwhile: Promise<void> | undefined

  constructor(db: Database, exchange: PreparedExchange['exchange'], clock: Clock) {
    this.#db = db
    this.#clock = clock
    const createdAt = isoNow(clock)
    this.exchange = { ...exchange, reply: '', incomplete: true, finishReason: null, createdAt }
  }

  /**
   * With the first piece the exchange is stored, marked incomplete until the last one was taken.
   * A database that is away or slow after that neither ends an answer nor holds it up: what could
   * not be stored is tried again.
   * @returns the text that the piece adds to the answer
   */
  async take(piece: ReplyPart): Promise<string> {
    this.exchange.model = piece.model
    const text = piece.kind === 'delta' ? this.#text.take(piece.text) : this.#text.end()
    this.exchange.reply += text
    if (piece.kind === 'finish') {
      this.exchange.incomplete = false
      this.exchange.finishReason = piece.reason
    }
    this.#isDue = true
    if (!this.#isStored) await this.store()
    else if (this.#clock.monotonic() - this.#storedAt >= storeInterval) this.#storeMeanwhile()
    return text
  }

  /** Stores what was taken and is not stored yet. */
  store(): Promise<void> {
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  #storeMeanwhile(): void {
    this.#meanwhile ??= this.store()
      .catch(() => {})
      .finally(() => {
        this.#meanwhile = undefined
      })
  }

  async #write(): Promise<void> {
    if (!this.#isDue) return
    this.#isDue = false
    try {
      if (this.#isStored) await updateReply(this.#db, this.exchange)
      else await storeExchange(this.#db, this.exchange)
      this.#isStored = true
    } catch (error) {
      // An exchange that may lie there all the same is not stored twice.
      this.#isDue = this.#isStored
      throw error
    } finally {
      this.#storedAt = this.#clock.monotonic()
    }
  }
}
