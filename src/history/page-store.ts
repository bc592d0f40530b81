import { dirname } from 'node:path'
import { keysOf, type SeenMessages } from '../client/history/message-keys.ts'
import type { HistoryBatch, HistoryPosition } from '../client/history/walk-history.ts'
import { parseJson } from '../contract/notation/exact-json.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { firstTime } from '../contract/resources/history-order.ts'
import type { Clock } from '../system/clock.ts'
import { LineLog } from '../system/files/line-log.ts'
import { unusableStateDirectory } from '../system/files/private-directory.ts'
import type { HistoryStore, Part, PartEnding } from './fetch-history.ts'

/** A page. Its messages are lines of JSON in the file, oldest first. */
export interface StoredPage {
  part: number
  /** Byte range in the file. */
  start: number
  end: number
  messages: number
  /** Unix time in ms; undefined if no message has a time. */
  oldest: number | undefined
}

/** The line after the messages of a page, or after the last page of a part. Messages are objects. */
type Head = [
  | { part: number; messages: number; oldest?: number; position: HistoryPosition }
  | { part: number; ending: PartEnding },
]

/** In ms. A crash of the system loses the pages that were written after the last flush. */
const flushInterval = 1000

/**
 * The pages of an export on disk, because they arrive newest first and are written oldest first. After a kill, all
 * complete pages can be restored. Not a mirror: docs/decisions/0016-sqlite-in-bulk-and-export.md.
 */
export class PageStore implements HistoryStore {
  readonly pages: StoredPage[] = []
  /** Whether the messages of an earlier run are forgotten. */
  isRestarted = false
  readonly parts: Part[] = []
  readonly #log: LineLog
  readonly #clock: Clock
  #flushedAt: number
  /** Reused, because a new buffer for each page would grow the memory faster than garbage is collected. */
  #scratch = Buffer.allocUnsafe(64 * 1024)

  /** @throws Failure `storage` */
  constructor(path: string, clock: Clock) {
    this.#log = new LineLog({ path, failureOf: (cause) => unusableExports(dirname(path), cause) })
    this.#clock = clock
    this.#flushedAt = clock.monotonic()
    this.#restore()
  }

  get messages(): number {
    return this.pages.reduce((sum, page) => sum + page.messages, 0)
  }

  append(part: number, { messages, position }: Pick<HistoryBatch, 'messages' | 'position'>): void {
    const page = { part, messages: messages.length, oldest: firstTime(messages), position }
    this.#add(
      [page],
      messages.map((message) => JSON.stringify(message)),
    )
    const now = this.#clock.monotonic()
    if (now - this.#flushedAt <= flushInterval) return
    this.#flushedAt = now
    // The export succeeds without it.
    this.#log.flush().catch(() => {})
  }

  endPart(part: number, ending: PartEnding): void {
    this.#add([{ part, ending }], [])
  }

  /** The lines of a page, valid until the next call. */
  read({ start, end }: StoredPage): Buffer {
    const size = end - start
    if (this.#scratch.length < size) {
      this.#scratch = Buffer.allocUnsafe(Math.max(size, this.#scratch.length * 2))
    }
    const bytes = this.#scratch.subarray(0, size)
    this.#log.read(start, bytes)
    return bytes
  }

  storedKeys(): SeenMessages {
    const seen: SeenMessages = new Map()
    for (const page of this.pages) {
      const lines = this.read(page).toString('utf8').split('\n').slice(0, -1)
      const messages = lines.map((line) => parseJson(line) as HistoryMessage)
      for (const key of keysOf(messages)) if (!seen.has(key)) seen.set(key, page.part)
    }
    return seen
  }

  restart(): void {
    this.isRestarted = true
    this.#log.truncate(0)
    this.pages.length = 0
    this.parts.length = 0
  }

  /** Flushes and closes the file, for a later run. */
  keep(): void {
    try {
      this.#log.flushNow()
    } catch {
      // A later run restores the pages that were flushed.
    }
    this.close()
  }

  close(): void {
    this.#log.close()
  }

  #add(head: Head, lines: readonly string[]): void {
    const start = this.#log.size
    const last = JSON.stringify(head)
    this.#log.appendNow([...lines, last].join('\n'))
    this.#apply(head, start, this.#log.size - Buffer.byteLength(last) - 1)
  }

  #apply([head]: Head, start: number, end: number): void {
    this.parts[head.part] ??= { position: undefined, ending: undefined }
    const part = this.parts[head.part]
    if (!part) return
    if ('ending' in head) {
      part.ending = head.ending
      return
    }
    const { messages, oldest } = head
    part.position = head.position
    this.pages.push({ part: head.part, start, end, messages, oldest })
  }

  /** Restores the complete pages of an earlier run, and truncates the rest. */
  #restore(): void {
    let complete = 0
    this.#log.restore((line, offset) => {
      if (!line.startsWith('[')) return
      this.#apply(JSON.parse(line), complete, offset)
      complete = offset + Buffer.byteLength(line) + 1
    })
    if (complete < this.#log.size) this.#log.truncate(complete)
  }
}

/** The failure if the pages of an export cannot be stored. */
export function unusableExports(directory: string, cause: unknown): Error {
  return unusableStateDirectory(directory, 'the pages of an export there until it is complete', cause)
}
