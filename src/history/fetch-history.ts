import type { SeenMessages } from '../client/history/message-keys.ts'
import type { HistoryBatch, HistoryPosition } from '../client/history/walk-history.ts'
import { Failure } from '../contract/failure.ts'
import type { HistoryMessage, HistoryQuery } from '../contract/resources/conversation.ts'
import type { Run } from '../run/run.ts'
import { ambiguousTimes } from '../view/history.ts'

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
  append(part: number, batch: HistoryBatch): void
  endPart(part: number, ending: PartEnding): void
  /** The messages of all parts. */
  storedKeys(): SeenMessages
  /** Forgets all parts, so that all messages are fetched again. */
  restart(): void
}

/** Which messages are fetched. */
export interface Selection {
  context?: string | undefined
  /** Unix time in ms. */
  since?: number | undefined
  /** Called with the messages of each page. */
  onMessages?(messages: readonly HistoryMessage[]): void
}

export type FetchRun = Pick<Run, 'connect' | 'progress' | 'say' | 'warn' | 'warnOfResponse'>

/** The maximum of most services. */
const pageSize = 100

/** Kinds of failures that would occur again at the same position. */
const permanent: ReadonlySet<string> = new Set(['rejected', 'invalid_response', 'not_found'])

/**
 * Downloads the history to disk, and resumes an earlier run. If the position of that run is no longer valid, all
 * messages are fetched again.
 * @returns whether more messages have the same time than fit on a page, so that some may be missing
 */
export async function fetchHistory(
  run: FetchRun,
  store: HistoryStore,
  { context, since, onMessages }: Selection = {},
): Promise<boolean> {
  const { history } = await run.connect()
  const progress = run.progress({ noun: 'message' })
  const query: HistoryQuery = { limit: pageSize, context_id: context }
  let [pages, done, mayLack] = [0, 0, false]
  async function walkPart(part: number, seen: SeenMessages): Promise<void> {
    const position = store.parts[part]?.position
    const { order } = store.parts.find((one) => one.position?.isOrderKnown)?.position ?? {}
    let met = false
    for await (const batch of oneAhead(history.pages(query, { position, seen, part, since, order }))) {
      store.append(part, batch)
      onMessages?.(batch.messages)
      if (pages++ === 0) await run.warnOfResponse(batch.response)
      mayLack ||= batch.unsure
      met = batch.met
      done += batch.messages.length
      progress.update({ done, failed: 0, unknown: 0 })
    }
    store.endPart(part, met ? 'met' : 'ended')
  }
  try {
    if (!(await walkAll(store, walkPart, () => pages))) {
      run.say('The service cannot continue from there. Fetching all messages again.')
      store.restart()
      await walkAll(store, walkPart, () => pages)
    }
  } finally {
    progress.end()
  }
  if (mayLack) await run.warn(ambiguousTimes)
  return mayLack
}

/**
 * Messages that are newer than those of an earlier run are a separate part, which ends where it meets them. Then an
 * incomplete part is resumed at its position.
 * @returns false if that position is no longer valid
 */
async function walkAll(
  store: HistoryStore,
  walkPart: (part: number, seen: SeenMessages) => Promise<void>,
  countPages: () => number,
): Promise<boolean> {
  const seen = store.storedKeys()
  await walkPart(store.parts.length, seen)
  const { ending, position } = store.parts.at(-1) ?? {}
  // Which messages are newer than those of an interrupted run is unknown, so all are read again.
  if (ending === 'met' && !position?.isOrderKnown && store.parts.some((part) => !part.ending)) return false
  for (let part = store.parts.length - 2; part >= 0 && store.parts[part + 1]?.ending === 'met'; part--) {
    if (store.parts[part]?.ending) continue
    const before = countPages()
    try {
      await walkPart(part, seen)
    } catch (error) {
      if (error instanceof Failure && permanent.has(error.kind) && countPages() === before) return false
      throw error
    }
  }
  return true
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
