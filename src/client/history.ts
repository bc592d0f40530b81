import type { HistoryPage, HistoryQuery } from '../contract/conversation.ts'
import type { Answer } from './answer.ts'
import type { EndpointCaller } from './endpoint-caller.ts'
import { type HistoryBatch, type WalkOptions, walkHistory } from './history-walk.ts'

interface Options {
  signal?: AbortSignal
}

/** GET /api/chat/history. */
export class History {
  readonly #caller: EndpointCaller

  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /** One page, as the service sends it. */
  page(query: HistoryQuery = {}, options: Options = {}): Promise<Answer<HistoryPage>> {
    return this.#caller.call('listHistory', { ...options, query })
  }

  /**
   * Every page, the newest first, whatever the order within a page and whatever `before` holds.
   *
   * @throws Failure `unusable_answer` where the service says that there is more and no cursor leads to it
   */
  pages(query: HistoryQuery = {}, options: WalkOptions & Options = {}): AsyncGenerator<HistoryBatch> {
    const { signal, ...walk } = options
    return walkHistory((asked) => this.page(asked, signal ? { signal } : {}), query, walk)
  }
}
