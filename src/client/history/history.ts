import type { HistoryPage, HistoryQuery } from '../../contract/resources/conversation.ts'
import type { EndpointCaller } from '../outgoing-request.ts'
import type { ApiResponse } from '../response/response.ts'
import { type HistoryBatch, type WalkOptions, walkHistory } from './walk-history.ts'

interface Options {
  /** Aborts this request. */
  signal?: AbortSignal | undefined
}

/** Earlier messages: GET /api/chat/history (docs/interface.md, "Chat history"). */
export class History {
  readonly #caller: EndpointCaller

  /** @internal */
  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /** Reads one page, as the service sends it. */
  page(query: HistoryQuery = {}, options: Options = {}): Promise<ApiResponse<HistoryPage>> {
    return this.#caller.call('listHistory', { ...options, query })
  }

  /**
   * Reads page after page, the newest first. The interface does not show the order within a page or what
   * `before` holds; both are detected.
   * @throws Failure `invalid_response` if the service has more messages and no cursor leads to them
   */
  pages(query: HistoryQuery = {}, options: WalkOptions & Options = {}): AsyncGenerator<HistoryBatch> {
    const { signal, ...walk } = options
    return walkHistory((request) => this.page(request, { signal }), query, walk)
  }
}
