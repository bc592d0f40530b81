import type { HistoryMessage, HistoryPage, HistoryQuery } from '../contract/conversation.ts'
import { Failure } from '../failure.ts'
import type { Answer } from './answer.ts'
import type { Caller } from './caller.ts'
import { isRecord } from './json.ts'

interface Options {
  signal?: AbortSignal
}

/** One page of a walk back through a context. */
export interface HistoryBatch {
  /** Oldest first; none that an earlier page had. */
  messages: HistoryMessage[]
  answer: Answer<HistoryPage>
}

/** GET /api/chat/history. */
export class History {
  readonly #caller: Caller

  constructor(caller: Caller) {
    this.#caller = caller
  }

  /** One page, as the service sends it. */
  page(query: HistoryQuery = {}, options: Options = {}): Promise<Answer<HistoryPage>> {
    return this.#caller.call('listHistory', { ...options, query })
  }

  /**
   * Every page, the newest first. The interface shows neither the order within a page nor what
   * `before` holds: the order is read from the times, and the cursor is the oldest message's id,
   * or its `created_at` where that leads nowhere (the same page, an empty one, a 400 or 422).
   *
   * @throws Failure `unusable_answer` where the service says that there is more and neither
   *   cursor leads to it
   */
  async *pages(query: HistoryQuery = {}, options: Options = {}): AsyncGenerator<HistoryBatch> {
    const seen = new Set<string>()
    let batch = fresh(await this.page(query, options), seen)
    let oldest: HistoryMessage | undefined
    let cursor: Cursor = 'id'
    for (;;) {
      yield batch
      oldest = batch.messages[0] ?? oldest
      if (!batch.answer.body?.has_more) return
      const found: Step | undefined = await this.#stepBack(oldest, cursor, query, options, seen)
      if (!found) {
        throw new Failure(
          'unusable_answer',
          'the service says that there are older messages but leads to none',
          {
            hint: 'It understood neither the id nor the time of the oldest message as `before`.',
          },
        )
      }
      cursor = found.cursor
      batch = found.batch
    }
  }

  async #stepBack(
    oldest: HistoryMessage | undefined,
    known: Cursor,
    query: HistoryQuery,
    options: Options,
    seen: Set<string>,
  ): Promise<Step | undefined> {
    const cursors: Cursor[] = known === 'id' ? ['id', 'created_at'] : ['created_at', 'id']
    let refusal: Failure | undefined
    for (const cursor of cursors) {
      const before = oldest?.[cursor]
      if (!before) continue
      try {
        const batch = fresh(await this.page({ ...query, before }, options), seen)
        if (batch.messages.length > 0 || !batch.answer.body?.has_more) return { cursor, batch }
      } catch (error) {
        if (!(error instanceof Failure) || (error.status !== 400 && error.status !== 422)) throw error
        refusal ??= error
      }
    }
    if (refusal) throw refusal
    return undefined
  }
}

type Cursor = 'id' | 'created_at'

interface Step {
  cursor: Cursor
  batch: HistoryBatch
}

/** The messages of a page that are new, oldest first; its faults name the entries that are none. */
function fresh(answer: Answer<HistoryPage>, seen: Set<string>): HistoryBatch {
  const all = Array.isArray(answer.body?.messages) ? answer.body.messages.filter(isRecord) : []
  const messages = orderOldestFirst(all).filter((message) => {
    const key = message.id ?? JSON.stringify([message.created_at, message.role, message.content])
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
  return { messages, answer }
}

/** Only a page whose ends say so is turned round: equal times say nothing. */
function orderOldestFirst(messages: HistoryMessage[]): HistoryMessage[] {
  const first = timeOf(messages[0])
  const last = timeOf(messages.at(-1))
  return first > last ? messages.toReversed() : messages
}

function timeOf(message: HistoryMessage | undefined): number {
  return Date.parse(message?.created_at ?? '')
}
