import { parseJson } from '../contract/notation/exact-json.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { timeOf } from '../contract/resources/history-order.ts'
import type { PageStore, StoredPage } from './page-store.ts'

type ExportFormat = 'jsonl' | 'json' | 'markdown' | 'html'

/** Writes the next bytes of a document. Resolves when more can be written. */
export type Write = (bytes: Uint8Array) => Promise<void>

export interface WriteOptions {
  format: ExportFormat
  /** The messages of the service; undefined for none. */
  store: PageStore | undefined
  /** The messages that only this machine stores, oldest first. */
  local: Iterable<HistoryMessage>
  context: string | undefined
  /** Unix time in ms. The local messages are selected already. */
  since: number | undefined
  write: Write
  signal: AbortSignal
}

/** The numbers of messages in a document. */
export interface Written {
  service: number
  local: number
}

/** Writes the messages as one document, oldest first, page by page. */
export async function writeDocument(writing: WriteOptions): Promise<Written> {
  const { write, signal } = writing
  const shape = await loadShape(writing.format, writing.context)
  const written = { service: 0, local: 0 }
  const isEmpty = () => written.service + written.local === 0
  if (shape.head !== '') await write(Buffer.from(shape.head))
  for (const { lines, service, local } of mergeByTime(writing)) {
    signal.throwIfAborted()
    await write(shape.page(lines, isEmpty()))
    written.service += service
    written.local += local
  }
  const tail = shape.tail(isEmpty())
  if (tail !== '') await write(Buffer.from(tail))
  return written
}

/** Lines of a document: each is a message as JSON and a newline. */
interface Lines extends Written {
  lines: Buffer
}

/** The messages of the service in their order, and each local message before the first of them that is later. */
function* mergeByTime({ store, local, since }: WriteOptions): Generator<Lines> {
  const messages = local[Symbol.iterator]()
  let next: HistoryMessage | undefined = messages.next().value
  const isDue = (time: number) => next !== undefined && !Number.isNaN(time) && !(timeOf(next) >= time)
  function* localBefore(time: number): Generator<Lines> {
    for (; isDue(time); next = messages.next().value)
      yield { lines: Buffer.from(`${JSON.stringify(next)}\n`), service: 0, local: 1 }
  }
  if (store) {
    const pages = pagesInOrder(store)
    for (const [index, page] of pages.entries()) {
      const { lines, messages: service } = linesOf(store, page, since)
      // Most pages are written as they are.
      const isWhole = !isDue(pages[index + 1]?.oldest ?? Number.POSITIVE_INFINITY)
      if (isWhole && service > 0) yield { lines, service, local: 0 }
      for (const line of isWhole ? [] : splitLines(lines)) {
        yield* localBefore(timeOf(parseJson(line) as HistoryMessage))
        yield { lines: Buffer.from(`${line}\n`), service: 1, local: 0 }
      }
    }
  }
  yield* localBefore(Number.POSITIVE_INFINITY)
}

/**
 * The pages of the whole history, oldest first. If a part reached the end of the history without meeting an
 * earlier part, it replaces all earlier parts.
 */
function pagesInOrder({ pages, parts }: PageStore): StoredPage[] {
  let first = parts.length - 1
  while (first > 0 && parts[first]?.ending !== 'ended') first -= 1
  const byPart = Map.groupBy(pages, (page) => page.part)
  const inOrder: StoredPage[] = []
  for (let part = first; part < parts.length; part++) inOrder.push(...(byPart.get(part) ?? []).toReversed())
  return inOrder.filter((page) => page.messages > 0)
}

/**
 * The lines of a page without messages before `since`, and their number. An earlier run may have stored older
 * messages, because a relative time such as `7d` was earlier then.
 */
function linesOf(store: PageStore, page: StoredPage, since: number | undefined) {
  const bytes = store.read(page)
  if (since === undefined || page.oldest === undefined || page.oldest >= since)
    return { lines: bytes, messages: page.messages }
  const kept = splitLines(bytes).filter((line) => !(timeOf(parseJson(line) as HistoryMessage) < since))
  return { lines: Buffer.from(kept.map((line) => `${line}\n`).join('')), messages: kept.length }
}

function splitLines(lines: Buffer): string[] {
  return lines.toString('utf8').split('\n').slice(0, -1)
}

interface Shape {
  head: string
  /** @param lines of one page, each a message as JSON and a newline */
  page(lines: Buffer, isFirst: boolean): Buffer
  tail(isEmpty: boolean): string
}

async function loadShape(format: ExportFormat, context: string | undefined): Promise<Shape> {
  if (format === 'jsonl') return { head: '', page: (lines) => lines, tail: () => '' }
  if (format === 'json') {
    return {
      head: '{"messages":[',
      page: (lines, isFirst) => {
        const list = lines.toString('utf8').trimEnd().replaceAll('\n', ',\n')
        return Buffer.from(`${isFirst ? '\n' : ',\n'}${list}`)
      },
      tail: (isEmpty) => (isEmpty ? ']}\n' : '\n]}\n'),
    }
  }
  const { head, message, tail } =
    format === 'markdown'
      ? (await import('./markdown-document.ts')).markdownDocument
      : (await import('./html-document.ts')).htmlDocument
  return {
    head: head(context === undefined ? 'Chat history' : `Conversation ${context}`),
    page: (lines) => {
      const messages = lines.toString('utf8').trimEnd().split('\n')
      return Buffer.from(messages.map((line) => message(parseJson(line) as HistoryMessage)).join(''))
    },
    tail,
  }
}
