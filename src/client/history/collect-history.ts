import { Failure } from '../../contract/failure.ts'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../../contract/resources/conversation.ts'
import type { ApiResponse } from '../response/response.ts'
import type { History } from './history.ts'
import type { SeenMessages } from './message-keys.ts'
import type { HistoryBatch, HistoryPosition } from './walk-history.ts'

/** How a part ended: it met an earlier part, or reached the end of the history. */
export type PartEnding = 'met' | 'ended'

export interface Part {
  /** Where the part is resumed. */
  position: HistoryPosition | undefined
  ending: PartEnding | undefined
}

/** A place on disk for the pages of the history. */
export interface HistoryStore {
  /** Each run begins a new part, for the messages that are newer than those of earlier runs. */
  readonly parts: readonly Part[]
  /** @param messages the new messages of the response, oldest first */
  append(
    part: number,
    messages: readonly HistoryMessage[],
    position: HistoryPosition,
    response: ApiResponse<HistoryPage>,
  ): void
  endPart(part: number, ending: PartEnding): void
  /** The messages of all parts. */
  storedKeys(): SeenMessages
}

export interface CollectOptions {
  history: Pick<History, 'pages'>
  context: string | undefined
  /** Unix time in ms. */
  since: number | undefined
  store: HistoryStore
  onFirstResponse(response: ApiResponse<HistoryPage>): void | Promise<void>
  /** Called with every page after it was written to disk. */
  onPage(page: { messages: number; oldest: number | undefined }): void
  /** Called if more messages have the same time than fit on a page, so that some may be missing. */
  onAmbiguousTime(): void
}

/** The maximum of most services. */
const pageSize = 100

/** Kinds of failures that would occur again at the same position. */
const permanent: ReadonlySet<string> = new Set(['rejected', 'invalid_response', 'not_found'])

/**
 * Downloads the history to disk, and resumes an earlier run. Messages that are newer than that run are a separate
 * part, which ends where it meets the messages of that run. Then an incomplete part is resumed at its position.
 * @returns false if the position of an earlier run is no longer valid
 */
export async function collectHistory(options: CollectOptions): Promise<boolean> {
  const { store } = options
  const seen = store.storedKeys()
  await walkPart(store.parts.length, seen, options)
  const { ending, position } = store.parts.at(-1) ?? {}
  // Which messages are newer than those of an interrupted run is unknown, so all are read again.
  if (ending === 'met' && !position?.isOrderKnown && store.parts.some((part) => !part.ending)) return false
  for (let part = store.parts.length - 2; part >= 0 && store.parts[part + 1]?.ending === 'met'; part--) {
    if (store.parts[part]?.ending) continue
    let pages = 0
    const onPage: CollectOptions['onPage'] = (page) => {
      pages++
      options.onPage(page)
    }
    try {
      await walkPart(part, seen, { ...options, onPage })
    } catch (error) {
      const isLost = error instanceof Failure && permanent.has(error.kind) && pages === 0
      if (isLost) return false
      throw error
    }
  }
  return true
}

async function walkPart(part: number, seen: SeenMessages, options: CollectOptions): Promise<void> {
  const { history, context, since, store } = options
  const query: HistoryQuery = { limit: pageSize, context_id: context }
  const position = store.parts[part]?.position
  const { order } = store.parts.find((one) => one.position?.isOrderKnown)?.position ?? {}
  let isFirst = true
  let met = false
  for await (const batch of oneAhead(history.pages(query, { position, seen, part, since, order }))) {
    store.append(part, batch.messages, batch.position, batch.response)
    if (isFirst) await options.onFirstResponse(batch.response)
    isFirst = false
    if (batch.unsure) options.onAmbiguousTime()
    met = batch.met
    options.onPage({ messages: batch.messages.length, oldest: batch.position.time })
  }
  store.endPart(part, met ? 'met' : 'ended')
}

/** Requests the next page while the current one is written. */
async function* oneAhead(pages: AsyncGenerator<HistoryBatch>): AsyncGenerator<HistoryBatch> {
  let coming = pages.next()
  for (;;) {
    const { done, value } = await coming
    if (done) return
    coming = pages.next()
    // A failure is thrown in the next iteration, after the current page is stored.
    coming.catch(() => {})
    yield value
  }
}
