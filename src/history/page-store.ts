import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
  writevSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { HistoryStore, Part, PartEnding } from '../client/history/collect-history.ts'
import { keysOf, type SeenMessages } from '../client/history/message-keys.ts'
import type { HistoryPosition } from '../client/history/walk-history.ts'
import { parseJson } from '../contract/notation/exact-json.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { firstTime } from '../contract/resources/history-order.ts'
import type { Clock } from '../system/clock.ts'
import { directoryFailure } from './export-directory.ts'

/** A page. Its messages are in the file of pages as lines of JSON, oldest first. */
export interface StoredPage {
  part: number
  /** Byte range in the file of pages. */
  start: number
  end: number
  messages: number
  /** Unix time in ms; undefined if no message has a time. */
  oldest: number | undefined
}

/** What the file has before the lines of a page, or after the last page of a part. */
type Head =
  | { part: number; size: number; messages: number; oldest?: number; sum: number; position: HistoryPosition }
  | { part: number; ending: PartEnding }

const newline = 10

/** In ms. A crash of the system loses the pages that were written after the last flush. */
const syncInterval = 1000

/**
 * The pages of an export on disk, because they arrive newest first and are written oldest first. The file is only
 * appended to: a head as JSON, a newline, and the lines of the page, in one write. After a kill, all complete pages
 * can be restored.
 */
export class PageStore implements HistoryStore {
  readonly pages: StoredPage[] = []
  readonly parts: Part[] = []
  readonly #file: number
  readonly #directory: string
  #size = 0
  readonly #clock: Clock
  #syncedAt: number
  /** Reused, because a new buffer for each page would grow the memory faster than garbage is collected. */
  #scratch = Buffer.allocUnsafe(64 * 1024)

  /** @throws Failure `storage` */
  constructor(directory: string, clock: Clock) {
    this.#directory = directory
    this.#clock = clock
    this.#syncedAt = clock.monotonic()
    this.#file = this.#guard(() => openSync(join(directory, 'pages'), 'a+', 0o600))
    this.#guard(() => this.#restore())
  }

  get messages(): number {
    return this.pages.reduce((sum, page) => sum + page.messages, 0)
  }

  /** @param messages oldest first */
  append(part: number, messages: readonly HistoryMessage[], position: HistoryPosition): void {
    const lines = messages.map((message) => JSON.stringify(message))
    const length = lines.reduce((sum, line) => sum + line.length + 1, 0)
    // A UTF-16 unit is at most three bytes of UTF-8.
    const room = this.#scratchOf(length * 3)
    let size = 0
    for (const line of lines) {
      size += room.write(line, size)
      room[size++] = newline
    }
    const bytes = room.subarray(0, size)
    const oldest = firstTime(messages)
    const head = {
      part,
      size,
      messages: messages.length,
      ...(oldest !== undefined && { oldest }),
      sum: crc32(bytes),
      position,
    }
    this.#guard(() => {
      this.#add(head, bytes)
      if (this.#clock.monotonic() - this.#syncedAt > syncInterval) this.#sync()
    })
  }

  endPart(part: number, ending: PartEnding): void {
    this.#guard(() => this.#add({ part, ending }, Buffer.alloc(0)))
  }

  /** The lines of a page, valid until the next call of any method. */
  read({ start, end }: StoredPage): Buffer {
    return this.#guard(() => this.#bytes(start, end))
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

  /** Deletes all pages. */
  clear(): void {
    this.#guard(() => ftruncateSync(this.#file, 0))
    this.pages.length = 0
    this.parts.length = 0
    this.#size = 0
  }

  /** Flushes and closes the file, for a later run. */
  keep(): void {
    try {
      this.#sync()
    } catch {
      // A later run restores the pages that were flushed.
    }
    this.close()
  }

  close(): void {
    closeSync(this.#file)
  }

  #scratchOf(size: number): Buffer {
    if (this.#scratch.length < size)
      this.#scratch = Buffer.allocUnsafe(Math.max(size, this.#scratch.length * 2))
    return this.#scratch
  }

  #sync(): void {
    fsyncSync(this.#file)
    this.#syncedAt = this.#clock.monotonic()
  }

  #add(head: Head, bytes: Buffer): void {
    const line = Buffer.from(`${JSON.stringify(head)}\n`)
    writeAll(this.#file, [line, bytes])
    this.#apply(head, this.#size + line.length)
  }

  /** @param start where the lines of the page begin */
  #apply(head: Head, start: number): void {
    this.parts[head.part] ??= { position: undefined, ending: undefined }
    const part = this.parts[head.part]
    this.#size = start
    if (!part) return
    if ('ending' in head) {
      part.ending = head.ending
      return
    }
    const { size, messages, oldest } = head
    part.position = head.position
    this.#size += size
    this.pages.push({ part: head.part, start, end: this.#size, messages, oldest })
  }

  /** Restores the complete pages of an earlier run, and truncates the rest. */
  #restore(): void {
    const available = fstatSync(this.#file).size
    for (;;) {
      const line = this.#lineAt(this.#size, available)
      const head = line && readHead(line)
      if (!head) break
      const start = this.#size + line.length + 1
      if ('size' in head) {
        const end = start + head.size
        if (end > available || crc32(this.#bytes(start, end)) !== head.sum) break
      }
      this.#apply(head, start)
    }
    ftruncateSync(this.#file, this.#size)
  }

  /** The bytes until the next newline. Undefined if there is none. */
  #lineAt(start: number, available: number): Buffer | undefined {
    for (let size = 4096; ; size *= 2) {
      const bytes = this.#bytes(start, Math.min(start + size, available))
      const end = bytes.indexOf(newline)
      if (end >= 0) return bytes.subarray(0, end)
      if (start + size >= available) return undefined
    }
  }

  /** A range of the file, valid until the next call of any method. */
  #bytes(start: number, end: number): Buffer {
    const bytes = this.#scratchOf(end - start).subarray(0, end - start)
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(this.#file, bytes, at, bytes.length - at, start + at)
      if (read === 0) throw new Error('it has become shorter')
      at += read
    }
    return bytes
  }

  #guard<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw directoryFailure(this.#directory, cause)
    }
  }
}

function writeAll(file: number, parts: readonly Buffer[]): void {
  let written = writevSync(file, parts)
  for (const bytes of parts) {
    let at = Math.min(written, bytes.length)
    written -= at
    while (at < bytes.length) at += writeSync(file, bytes, at)
  }
}

/** @returns undefined for a line that is no head, such as one of an interrupted run of another version */
function readHead(line: Buffer): Head | undefined {
  try {
    const head = JSON.parse(line.toString('utf8'))
    const isHead = Number.isInteger(head.part) && ('ending' in head || head.size >= 0)
    return isHead ? head : undefined
  } catch {
    return undefined
  }
}
