import type { History, HistoryBatch } from '../client/history.ts'
import { keysOf, MessageKeys } from '../client/message-keys.ts'
import type { ApiResponse } from '../client/response.ts'
import type { HistoryMessage, HistoryPage, HistoryQuery } from '../contract/conversation.ts'
import { parseJson } from '../contract/exact-json.ts'
import { Failure } from '../contract/failure.ts'
import type { PageStore } from './page-store.ts'

export interface Collecting {
  history: Pick<History, 'pages'>
  context: string | undefined
  /** Ms. */
  since: number | undefined
  store: PageStore
  onFirstAnswer(answer: ApiResponse<HistoryPage>): void | Promise<void>
  /** Is told of every page when it is on disk. */
  onPage(page: { messages: number; oldest: number | undefined }): void
  /** More messages are of one time than the service shows of it. */
  onUnsure(): void
}

/** As many as most services give. */
const pageSize = 100

/** Of these another try from the same place would end in the same. */
const hopeless: ReadonlySet<string> = new Set(['rejected', 'invalid_response', 'not_found'])

/**
 * Brings the history to disk, from where an earlier run has stopped. What is new since then is a
 * part of its own, which ends where it meets what that run had; a part that was not finished goes
 * on where it stopped.
 *
 * @returns false where the place at which an earlier run stopped leads nowhere any more
 */
export async function collectHistory(collecting: Collecting): Promise<boolean> {
  const { store } = collecting
  const seen = keysOfSpill(store)
  await walkPart(store.parts.length, seen, collecting)
  for (let part = store.parts.length - 2; part >= 0 && store.parts[part + 1]?.ending === 'met'; part--) {
    if (store.parts[part]?.ending) continue
    const before = store.pages.length
    try {
      await walkPart(part, seen, collecting)
    } catch (error) {
      const isLost = error instanceof Failure && hopeless.has(error.kind) && store.pages.length === before
      if (isLost) return false
      throw error
    }
  }
  return true
}

async function walkPart(part: number, seen: MessageKeys, collecting: Collecting): Promise<void> {
  const { history, context, since, store } = collecting
  const query: HistoryQuery = { limit: pageSize, ...(context !== undefined && { context_id: context }) }
  const position = store.parts[part]?.position
  let isFirst = true
  let met = false
  for await (const batch of oneAhead(history.pages(query, { position, seen, part, since }))) {
    store.append(part, batch.messages, batch.position)
    if (isFirst) await collecting.onFirstAnswer(batch.response)
    isFirst = false
    if (batch.unsure) collecting.onUnsure()
    met = batch.met
    collecting.onPage({ messages: batch.messages.length, oldest: batch.position.time })
  }
  store.endPart(part, met ? 'met' : 'ended')
}

/** The next page is on its way while this one is being written. */
async function* oneAhead(pages: AsyncGenerator<HistoryBatch>): AsyncGenerator<HistoryBatch> {
  let coming = pages.next()
  for (;;) {
    const { done, value } = await coming
    if (done) return
    coming = pages.next()
    // It is thrown when it is waited for: this page is to be kept first.
    coming.catch(() => {})
    yield value
  }
}

function keysOfSpill(store: PageStore): MessageKeys {
  const seen = new MessageKeys()
  for (const page of store.pages) {
    const lines = store.read(page).toString('utf8').split('\n').slice(0, -1)
    const messages = lines.map((line) => parseJson(line) as HistoryMessage)
    const keys = keysOf(messages)
    for (const index of messages.keys()) seen.add(keys, index, page.part)
  }
  return seen
}
