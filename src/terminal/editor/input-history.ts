import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { type Clock, isoNow } from '../../system/clock.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import { withFileLock } from '../../system/files/process-lock.ts'
import { removeLeftovers, replaceFile, temporaryPath } from '../../system/files/replace-file.ts'
import { cleanText } from './graphemes.ts'

const maxEntries = 1_000

/** Number of lines after which the file is shortened to `maxEntries`. */
const maxLines = 2_000

/** Maximum number of bytes that are read at the end of the file. Entries can be large pastes. */
const maxBytes = 4 * 2 ** 20

/**
 * The texts that the person has entered, in all sessions, oldest first. The file has JSON lines
 * `{"id", "at", "text"}`, each of them unique. Errors of the file are ignored; then the entries of this
 * session are only in memory.
 */
export class InputHistory {
  readonly #path: string | undefined
  readonly #entries: string[]
  readonly #clock: Clock
  #added = 0

  /** @param path of the file, which need not exist. Undefined keeps the entries in memory. */
  static open(path: string | undefined, clock: Clock): InputHistory {
    if (path === undefined) return new InputHistory(path, clock, [])
    const tail = readTailAt(path)
    if (isTooLong(tail)) void shorten(path)
    return new InputHistory(path, clock, readEntries(tail.lines))
  }

  private constructor(path: string | undefined, clock: Clock, entries: string[]) {
    this.#path = path
    this.#clock = clock
    this.#entries = entries
  }

  get entries(): readonly string[] {
    return this.#entries
  }

  /** Adds an entry, unless it equals the last one. */
  add(text: string): void {
    const entry = cleanText(text)
    if (entry === this.#entries.at(-1)) return
    this.#entries.push(entry)
    if (this.#entries.length > maxEntries) this.#entries.shift()
    if (this.#path === undefined) return
    try {
      makePrivateDirectory(dirname(this.#path))
      const id = `${process.pid}-${++this.#added}`
      append(this.#path, JSON.stringify({ id, at: isoNow(this.#clock), text: entry }))
    } catch {
      // A full disk must not end the session.
    }
  }
}

interface Tail {
  /** Complete lines. */
  lines: string[]
  /** Offset in the file of the end of the last line. */
  end: number
}

/** Reads the end of a file. Empty if the file cannot be read. */
function readTailAt(path: string): Tail {
  try {
    const file = openSync(path, 'r')
    try {
      return readTail(file)
    } finally {
      closeSync(file)
    }
  } catch {
    return { lines: [], end: 0 }
  }
}

function readTail(file: number): Tail {
  const { size } = fstatSync(file)
  const from = Math.max(0, size - maxBytes)
  const bytes = Buffer.alloc(size - from)
  const read = bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from))
  const length = read.lastIndexOf('\n') + 1
  const lines = read.toString('utf8', 0, length).split('\n')
  return { lines: lines.slice(from > 0 ? 1 : 0).filter((line) => line !== ''), end: from + length }
}

function isTooLong({ lines, end }: Tail): boolean {
  return lines.length > maxLines || end > 2 * maxBytes
}

function readEntries(lines: readonly string[]): string[] {
  const texts = [...new Set(lines)].map(readText).filter((text) => text !== undefined)
  return texts.filter((text, index) => text !== texts[index - 1]).slice(-maxEntries)
}

/** Undefined for a truncated or invalid line. */
function readText(line: string): string | undefined {
  try {
    const { text } = JSON.parse(line) as { text?: unknown }
    return typeof text === 'string' && text.trim() !== '' ? cleanText(text) : undefined
  } catch {
    return undefined
  }
}

/** Appends a line in one write, so that the lines of two sessions do not mix. */
function append(path: string, line: string): void {
  const file = openSync(path, 'a+', 0o600)
  try {
    const { size, ino } = fstatSync(file)
    const last = Buffer.from('\n')
    if (size > 0) readSync(file, last, 0, 1, size - 1)
    // After a truncated line, a newline is needed first.
    writeSync(file, `${last[0] === 0x0a ? '' : '\n'}${line}\n`)
    // Another session has just replaced the file, perhaps without this line. If the line is then there
    // twice, reading removes the duplicate.
    if (statSync(path).ino !== ino) writeFileSync(path, `${line}\n`, { flag: 'a', mode: 0o600 })
  } finally {
    closeSync(file)
  }
}

/** Shortens the file to its last lines, and keeps lines that another session appends meanwhile. */
async function shorten(path: string): Promise<void> {
  try {
    await withFileLock(path, () => {
      removeLeftovers(path)
      const tail = readTailAt(path)
      // Another session may have shortened it while this one waited for the lock.
      if (!isTooLong(tail)) return
      const old = keepFile(path)
      try {
        replaceFile(path, `${tail.lines.slice(-maxEntries).join('\n')}\n`, { flush: false })
        const later = readFileSync(old).subarray(tail.end)
        if (later.length > 0) writeFileSync(path, later, { flag: 'a', mode: 0o600 })
      } finally {
        if (typeof old === 'number') closeSync(old)
        else rmSync(old, { force: true })
      }
    })
  } catch {
    // The next session tries again.
  }
}

/** A second name of a file that will be replaced, or its descriptor on a file system without hard links. */
function keepFile(path: string): string | number {
  // Windows does not replace a file that is open.
  const name = temporaryPath(path)
  try {
    linkSync(path, name)
    return name
  } catch {
    return openSync(path, 'r')
  }
}
