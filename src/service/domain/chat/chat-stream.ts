import { endOfReply, type ReplyEnd } from '../../../contract/reply/reply-end.ts'
import type { CompletionRequest, Message } from '../../../contract/resources/completion.ts'
import { type Clock, isoNow } from '../../../system/clock.ts'
import type { ReplyPart, ReplySource, TokenCounts } from '../../replies/reply-source.ts'
import type { Database } from '../../store/tables.ts'
import { withStored } from '../../to-api-error.ts'
import { createId } from '../identifiers.ts'
import type { EffectiveSettings } from '../settings.ts'
import {
  type MessageContext,
  type MessageRequest,
  type PreparedExchange,
  prepareCompletion,
  prepareExchange,
  type RequestContext,
  StorableStream,
} from './chat.ts'
import { type Exchange, storeExchange, updateReply } from './conversations.ts'

/** A completion has no `context_id`. */
type ReplyHead = { id: string; context_id?: string; created_at: string; model: string }

/** The events of a streamed reply. Each has the same head, so that any one of them is enough. */
export type ChatEvent =
  /** What the model thinks before it replies. It is never stored. */
  | { event: 'reasoning'; data: ReplyHead & { reasoning: string } }
  | { event: 'delta'; data: ReplyHead & { delta: string } }
  | {
      event: 'done'
      data: ReplyHead & {
        response: string
        finish_reason: string
        end: ReplyEnd
        /** The tools that the model calls. Omitted if it calls none. */
        tools?: string[]
        /** Omitted if the model server does not report it. */
        usage?: TokenCounts
      }
    }

/**
 * Sends a message and yields the reply as it arrives. The exchange is stored with the first part of the
 * reply, marked incomplete, then every 2 s, and when the reply ends for any reason. If it fails before
 * its first part, nothing is stored.
 */
export async function* streamMessage(
  sent: MessageRequest,
  context: MessageContext,
): AsyncGenerator<ChatEvent> {
  const { db, replySource, signal, clock } = context
  let record: StoredReply | undefined
  let finish: FinishPart | undefined
  // This generator waits for a client that stops reading, so an abort stores the text that arrived.
  const keep = () => record?.store().catch(() => {})
  signal.addEventListener('abort', keep)
  try {
    const { exchange, modelRequest } = await prepareExchange(sent, context)
    for await (const piece of replySource.stream(modelRequest, signal)) {
      record ??= new StoredReply(db, exchange, clock)
      const delta = await record.take(piece)
      if (piece.kind === 'finish') finish = piece
      if (piece.kind === 'reasoning')
        yield { event: 'reasoning', data: { ...headOf(record.exchange), reasoning: piece.text } }
      if (delta !== '') yield { event: 'delta', data: { ...headOf(record.exchange), delta } }
    }
    await record?.store()
  } catch (error) {
    // After a failed attempt to store it, the error itself tells what is known.
    throw record?.isStored === false ? error : withStored(error, record !== undefined)
  } finally {
    signal.removeEventListener('abort', keep)
    await keep()
  }
  if (record && finish) yield doneEvent(headOf(record.exchange), record.exchange.reply, finish)
}

/** One stateless completion as it arrives. Nothing is stored. @throws ApiError as `complete` */
export async function* streamCompletion(
  replySource: ReplySource,
  settings: EffectiveSettings,
  request: CompletionRequest & { messages: Message[] },
  { signal, clock }: Pick<RequestContext, 'signal' | 'clock'>,
): AsyncGenerator<ChatEvent> {
  const modelRequest = await prepareCompletion(replySource, settings, request, signal)
  const about = { id: createId('chatcmpl'), created_at: isoNow(clock) }
  let reply = ''
  for await (const piece of replySource.stream(modelRequest, signal)) {
    const head = { ...about, model: piece.model }
    if (piece.kind === 'finish') yield doneEvent(head, reply, piece)
    else if (piece.kind === 'reasoning')
      yield { event: 'reasoning', data: { ...head, reasoning: piece.text } }
    else {
      reply += piece.text
      yield { event: 'delta', data: { ...head, delta: piece.text } }
    }
  }
}

const headOf = ({ replyId, contextId, createdAt, model }: Exchange): ReplyHead => ({
  id: replyId,
  context_id: contextId,
  created_at: createdAt,
  model,
})

type FinishPart = Extract<ReplyPart, { kind: 'finish' }>

function doneEvent(
  head: ReplyHead,
  response: string,
  { reason: finish_reason, tools, usage }: FinishPart,
): ChatEvent {
  const ended = { response, finish_reason, end: endOfReply(finish_reason, response) }
  return { event: 'done', data: { ...head, ...ended, ...(tools && { tools }), ...(usage && { usage }) } }
}

/** How often, in ms, an incomplete reply is stored. */
const storeInterval = 2_000

/** Stores a reply while its parts arrive. */
export class StoredReply {
  readonly exchange: Exchange
  readonly #db: Database
  readonly #clock: Clock
  readonly #text = new StorableStream()
  /** Whether the exchange is stored. */
  isStored = false
  /** Whether a part was added since the last write. */
  #isDue = false
  #storedAt = 0
  /** The last write. Writes are sequential, so that an older text never replaces a newer one. */
  #writing: Promise<void> = Promise.resolve()
  /** A write that `take` does not wait for. */
  #meanwhile: Promise<void> | undefined

  constructor(db: Database, exchange: PreparedExchange['exchange'], clock: Clock) {
    this.#db = db
    this.#clock = clock
    const createdAt = isoNow(clock)
    this.exchange = { ...exchange, reply: '', incomplete: true, finishReason: null, createdAt }
  }

  /**
   * Adds a part. The first one stores the exchange, marked incomplete until the last part. After that, an
   * unavailable or slow database neither ends nor delays the reply: the write is tried again.
   * @returns the text that the part adds to the reply
   */
  async take(piece: ReplyPart): Promise<string> {
    if (piece.kind === 'reasoning' && this.isStored) return ''
    this.exchange.model = piece.model
    let text = ''
    if (piece.kind === 'delta') text = this.#text.take(piece.text)
    if (piece.kind === 'finish') {
      text = this.#text.end()
      this.exchange.incomplete = false
      this.exchange.finishReason = piece.reason
    }
    this.exchange.reply += text
    this.#isDue = true
    if (!this.isStored) await this.store()
    else if (this.#clock.monotonic() - this.#storedAt >= storeInterval) this.#storeMeanwhile()
    return text
  }

  /** Stores the parts that are not stored yet. */
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
      if (this.isStored) await updateReply(this.#db, this.exchange)
      else this.exchange.createdAt = await storeExchange(this.#db, this.exchange)
      this.isStored = true
    } catch (error) {
      // The exchange may have been stored despite the error, so it is not inserted again.
      this.#isDue = this.isStored
      throw error
    } finally {
      this.#storedAt = this.#clock.monotonic()
    }
  }
}
