import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { HistoryStore, Part, PartEnding } from '../client/collect-history.ts'
import type { HistoryPosition } from '../client/history-position.ts'
import { keysOf, MessageKeys } from '../client/message-keys.ts'
import type { HistoryMessage } from '../contract/conversation.ts'
import { parseJson } from '../contract/exact-json.ts'
import { firstTime } from '../contract/history-order.ts'
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

type IndexLine =
  | { part: number; end: number; messages: number; oldest?: number; sum: number; position: HistoryPosition }
  | { part: number; ending: PartEnding }

const newline = 10

/** In ms. A crash of the system loses the pages that were written after the last flush. */
const syncInterval = 1000

/**
 * The pages of an export on disk, because they arrive newest first and are written oldest first. Consists of a
 * file of pages and an index, both only appended to. After a kill, all complete pages can be restored.
 */
export class PageStore implements HistoryStore {
  readonly pages: StoredPage[] = []
  readonly parts: Part[] = []
  readonly #pagesFile: number
  readonly #indexFile: number
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
    ;[this.#pagesFile, this.#indexFile] = this.#guard(() => [
      openOwn(join(directory, 'pages')),
      openOwn(join(directory, 'index')),
    ])
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
    this.#guard(() => {
      writeAll(this.#pagesFile, bytes)
      this.#add({
        part,
        end: this.#size + bytes.length,
        messages: messages.length,
        ...(oldest !== undefined && { oldest }),
        sum: crc32(bytes),
        position,
      })
      if (this.#clock.monotonic() - this.#syncedAt > syncInterval) this.#sync()
    })
  }

  endPart(part: number, ending: PartEnding): void {
    this.#guard(() => this.#add({ part, ending }))
  }

  /** The lines of a page, valid until the next call of any method. */
  read({ start, end }: StoredPage): Buffer {
    const bytes = this.#scratchOf(end - start).subarray(0, end - start)
    this.#guard(() => {
      for (let at = 0; at < bytes.length; ) {
        const read = readSync(this.#pagesFile, bytes, at, bytes.length - at, start + at)
        if (read === 0) throw new Error('it has become shorter')
        at += read
      }
    })
    return bytes
  }

  storedKeys(): MessageKeys {
    const seen = new MessageKeys()
    for (const page of this.pages) {
      const lines = this.read(page).toString('utf8').split('\n').slice(0, -1)
      const messages = lines.map((line) => parseJson(line) as HistoryMessage)
      const keys = keysOf(messages)
      for (const index of messages.keys()) seen.add(keys, index, page.part)
    }
    return seen
  }

  /** Deletes all pages. */
  clear(): void {
    this.#guard(() => {
      ftruncateSync(this.#indexFile, 0)
      ftruncateSync(this.#pagesFile, 0)
    })
    this.pages.length = 0
    this.parts.length = 0
    this.#size = 0
  }

  /** Flushes and closes the files, for a later run. */
  keep(): void {
    try {
      this.#sync()
    } catch {
      // A later run restores the pages that were flushed.
    }
    this.close()
  }

  close(): void {
    closeSync(this.#pagesFile)
    closeSync(this.#indexFile)
  }

  #scratchOf(size: number): Buffer {
    if (this.#scratch.length < size)
      this.#scratch = Buffer.allocUnsafe(Math.max(size, this.#scratch.length * 2))
    return this.#scratch
  }

  #sync(): void {
    fsyncSync(this.#pagesFile)
    fsyncSync(this.#indexFile)
    this.#syncedAt = this.#clock.monotonic()
  }

  #add(line: IndexLine): void {
    writeAll(this.#indexFile, Buffer.from(`${JSON.stringify(line)}\n`))
    this.#apply(line)
  }

  #apply(line: IndexLine): void {
    this.parts[line.part] ??= { position: undefined, ending: undefined }
    const part = this.parts[line.part]
    if (!part) return
    if ('ending' in line) {
      part.ending = line.ending
      return
    }
    const { end, messages, oldest } = line
    part.position = line.position
    this.pages.push({ part: line.part, start: this.#size, end, messages, oldest })
    this.#size = end
  }

  /** Restores the complete pages of an earlier run, and truncates the rest. */
  #restore(): void {
    const lines = readFileSync(this.#indexFile, 'utf8').split('\n')
    const available = fstatSync(this.#pagesFile).size
    let kept = 0
    for (const text of lines.slice(0, -1)) {
      const line = readLine(text)
      if (!line || ('end' in line && (line.end > available || !this.#isComplete(line)))) break
      this.#apply(line)
      kept += Buffer.byteLength(text) + 1
    }
    ftruncateSync(this.#indexFile, kept)
    ftruncateSync(this.#pagesFile, this.#size)
  }

  #isComplete(line: Extract<IndexLine, { end: number }>): boolean {
    const { part, end, messages } = line
    return crc32(this.read({ part, start: this.#size, end, messages, oldest: undefined })) === line.sum
  }

  #guard<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw directoryFailure(this.#directory, cause)
    }
  }
}

function openOwn(path: string): number {
  return openSync(path, 'a+', 0o600)
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}

function readLine(text: string): IndexLine | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
