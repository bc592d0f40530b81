import { parseJson } from '../contract/notation/exact-json.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { timeOf } from '../contract/resources/history-order.ts'
import type { PageStore, StoredPage } from './page-store.ts'

export type ExportFormat = 'jsonl' | 'json' | 'markdown' | 'html'

/** Writes the next bytes of a document. Resolves when more can be written. */
export type Write = (bytes: Uint8Array) => Promise<void>

export interface WriteOptions {
  format: ExportFormat
  store: PageStore
  context: string | undefined
  /** Unix time in ms. */
  since: number | undefined
  write: Write
  /** Called with the numbers of written messages and of all messages. */
  onWritten(messages: number, total: number): void
  signal: AbortSignal
}

/** Writes the stored messages as one document, oldest first, page by page. */
export async function writeDocument(writing: WriteOptions): Promise<number> {
  const { store, since, signal, onWritten } = writing
  const pages = pagesInOrder(store)
  const total = pages.reduce((sum, page) => sum + page.messages, 0)
  const shape = await loadShape(writing.format, writing.context)
  let written = 0
  if (shape.head !== '') await writing.write(Buffer.from(shape.head))
  for (const page of pages) {
    signal.throwIfAborted()
    const { lines, messages } = linesOf(store, page, since)
    if (messages === 0) continue
    await writing.write(shape.page(lines, written === 0))
    written += messages
    onWritten(written, total)
  }
  const tail = shape.tail(written === 0)
  if (tail !== '') await writing.write(Buffer.from(tail))
  return written
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
function linesOf(
  store: PageStore,
  page: StoredPage,
  since: number | undefined,
): { lines: Buffer; messages: number } {
  const bytes = store.read(page)
  if (since === undefined || page.oldest === undefined || page.oldest >= since)
    return { lines: bytes, messages: page.messages }
  const lines = bytes.toString('utf8').split('\n').slice(0, -1)
  const kept = lines.filter((line) => !(timeOf(parseJson(line) as HistoryMessage) < since))
  return { lines: Buffer.from(kept.map((line) => `${line}\n`).join('')), messages: kept.length }
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
