import type { HistoryMessage } from '../contract/conversation.ts'
import { parseJson } from '../contract/exact-json.ts'
import { timeOf } from '../contract/history-order.ts'
import type { PageStore, StoredPage } from './page-store.ts'

export type ExportFormat = 'jsonl' | 'json' | 'md' | 'html'

/** Takes the next bytes of a document, and resolves when there is room for more. */
export type Write = (bytes: Uint8Array) => Promise<void>

export interface Writing {
  format: ExportFormat
  store: PageStore
  context: string | undefined
  /** Ms. */
  since: number | undefined
  write: Write
  /** Is told how many messages of how many are written. */
  onWritten(messages: number, total: number): void
  signal: AbortSignal
}

/** Writes the messages that are on disk as one document, oldest first, a page at a time. */
export async function writeDocument(writing: Writing): Promise<number> {
  const { store, since, signal, onWritten } = writing
  const pages = pagesInOrder(store)
  const total = pages.reduce((sum, page) => sum + page.messages, 0)
  const shape = await loadShape(writing.format, writing.context)
  const chunks = new Chunks(writing.write)
  let written = 0
  await chunks.add(Buffer.from(shape.head))
  for (const page of pages) {
    signal.throwIfAborted()
    const { lines, messages } = linesOf(store, page, since)
    if (messages === 0) continue
    await chunks.add(shape.page(lines, written === 0))
    written += messages
    onWritten(written, total)
  }
  await chunks.add(Buffer.from(shape.tail(written === 0)))
  await chunks.flush()
  return written
}

/**
 * The pages of a whole walk, the oldest first. Where the newest part came to the end without
 * meeting an earlier one, the history is another one now, and that part is all of it.
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
 * The lines of a page and how many they are, without those of before `since` (ms): an earlier run
 * may have looked further back, for `7d` was another day then.
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

/** Gathers what is small to write it at once. */
class Chunks {
  readonly #write: Write
  readonly #buffer = Buffer.allocUnsafe(128 * 1024)
  #size = 0

  constructor(write: Write) {
    this.#write = write
  }

  /** @param bytes are not looked at any more when it resolves */
  async add(bytes: Uint8Array): Promise<void> {
    if (this.#size + bytes.length > this.#buffer.length) await this.flush()
    if (bytes.length > this.#buffer.length) return this.#write(bytes)
    this.#buffer.set(bytes, this.#size)
    this.#size += bytes.length
  }

  async flush(): Promise<void> {
    if (this.#size > 0) await this.#write(this.#buffer.subarray(0, this.#size))
    this.#size = 0
  }
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
    format === 'md'
      ? (await import('./markdown-document.ts')).markdownDocument
      : (await import('./html-document.ts')).htmlDocument
  return {
    head: head(context),
    page: (lines) => {
      const messages = lines.toString('utf8').trimEnd().split('\n')
      return Buffer.from(messages.map((line) => message(parseJson(line) as HistoryMessage)).join(''))
    },
    tail,
  }
}
