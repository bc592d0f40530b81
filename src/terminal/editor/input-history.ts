import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Clock, isoNow } from '../../system/clock.ts'
import { LineLog } from '../../system/files/line-log.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import { replaceFile } from '../../system/files/replace-file.ts'
import { cleanText, showGrapheme, splitGraphemes, widthOf } from './graphemes.ts'
import { plainText } from './pasted-text.ts'
import type { BufferState, TextBuffer } from './text-buffer.ts'

const maxEntries = 1_000

/** Number of lines, and of characters, after which the file is shortened to `maxEntries`. */
const maxLines = 2_000
const maxLength = 8 * 2 ** 20

/**
 * The texts that the user has entered, with the marks of pasted text, in all sessions, oldest first. The file has JSON lines `{"at", "text"}`.
 * Errors of the file are ignored; then the entries of this session are only in memory.
 */
export class InputHistory {
  readonly #path: string | undefined
  readonly #entries: string[]
  readonly #clock: Clock

  /** @param path of the file, which need not exist. Undefined keeps the entries in memory. */
  constructor(path: string | undefined, clock: Clock) {
    this.#path = path
    this.#clock = clock
    this.#entries = path === undefined ? [] : readEntries(path)
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
      // Opened for each entry, because another session may have replaced the file.
      const log = new LineLog({ path: this.#path, isShared: true, failureOf: (cause) => cause as Error })
      log.append(JSON.stringify({ at: isoNow(this.#clock), text: entry }))
      log.close()
    } catch {
      // A full disk must not end the session.
    }
  }
}

/** Reads the last entries, and shortens a long file. Empty if the file cannot be read. */
function readEntries(path: string): string[] {
  try {
    const text = readFileSync(path, 'utf8')
    const lines = text.split('\n').filter((line) => line !== '')
    const last = lastOf(lines)
    if (lines.length > maxLines || text.length > maxLength) {
      replaceFile(path, last.map((line) => `${line}\n`).join(''), { flush: false })
    }
    const texts = last.map(readText).filter((entry) => entry !== undefined)
    return texts.filter((entry, index) => entry !== texts[index - 1])
  } catch {
    return []
  }
}

function lastOf(lines: readonly string[]): readonly string[] {
  let length = 0
  const tooOld = lines.findLastIndex((line, index) => {
    length += line.length
    return length > maxLength / 2 || index < lines.length - maxEntries
  })
  return lines.slice(tooOld + 1)
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

/** The reverse search of Ctrl+R. */
export class InputHistorySearch {
  readonly #entries: readonly string[]
  #word: string[] = []
  /** Index of the match. Undefined before the first match. */
  #found: number | undefined
  #failed = false

  constructor(entries: readonly string[]) {
    this.#entries = entries
  }

  /** The matching entry, with the cursor at the match. */
  get found(): BufferState | undefined {
    if (this.#found === undefined) return undefined
    const entry = this.#entries[this.#found] ?? ''
    const before = plainText(entry).slice(0, Math.max(0, this.#positionIn(entry)))
    const cursor = splitGraphemes(before).length
    return { units: splitGraphemes(entry), cursor }
  }

  /** Extends the search text. The match stays while it contains the text. */
  type(text: string): boolean {
    this.#word = splitGraphemes(this.#word.join('') + cleanText(text).replace(/[\n\t]+/g, ' '))
    return this.#find(this.#found ?? this.#entries.length - 1)
  }

  /** Shortens the search text, and finds the newest match. */
  deleteBack(): boolean {
    if (this.#word.length === 0) return false
    this.#word.pop()
    this.#found = undefined
    this.#failed = false
    if (this.#word.length > 0) this.#find(this.#entries.length - 1)
    return true
  }

  /** Finds the next older match that differs from the current one. */
  findNext(): boolean {
    if (this.#word.length === 0) return false
    const shown = this.#found === undefined ? undefined : this.#entries[this.#found]
    return this.#find((this.#found ?? this.#entries.length) - 1, shown)
  }

  /** The line `search: word` with the end of the word visible, and the column of the cursor. */
  show(columns: number, style: { dim(text: string): string }): { line: string; column: number } {
    const label = columns > 16 ? 'search: ' : columns > 4 ? '? ' : ''
    const room = Math.max(0, columns - label.length - 1)
    let [word, width] = ['', 0]
    for (const grapheme of this.#word.toReversed()) {
      if (width + widthOf(grapheme) > room) break
      word = showGrapheme(grapheme) + word
      width += widthOf(grapheme)
    }
    const note = ' (no match)'
    const failed = this.#failed && width + note.length <= room ? style.dim(note) : ''
    const line = (label && style.dim(label)) + word + failed
    return { line, column: label.length + width }
  }

  #find(from: number, other?: string): boolean {
    for (let index = from; index >= 0; index--) {
      const entry = this.#entries[index] ?? ''
      if (entry === other || this.#positionIn(entry) < 0) continue
      this.#found = index
      this.#failed = false
      return true
    }
    this.#failed = true
    return false
  }

  /** Ignores case if the search text is lowercase. */
  #positionIn(entry: string): number {
    const word = this.#word.join('')
    const ignoresCase = word === word.toLowerCase()
    return plainText(ignoresCase ? entry.toLowerCase() : entry).indexOf(word)
  }
}

/** Moves through the entries with Up and Down. Edits to each entry, and the draft, are kept until the walk ends. */
export class InputHistoryCursor {
  readonly #recall: InputHistory
  readonly #buffer: TextBuffer
  /** Edited texts by index of the entry. The draft has the index after the last entry. */
  #edited = new Map<number, BufferState>()
  #entries: readonly string[] = []
  #index: number | undefined

  constructor(recall: InputHistory, buffer: TextBuffer) {
    this.#recall = recall
    this.#buffer = buffer
  }

  /** @returns false if there is no further entry in that direction */
  step(direction: 'older' | 'newer'): boolean {
    if (this.#index === undefined) this.#entries = [...this.#recall.entries]
    const index = this.#index ?? this.#entries.length
    const next = direction === 'older' ? index - 1 : index + 1
    if (next < 0 || next > this.#entries.length) return false
    this.#edited.set(index, this.#buffer.state)
    this.#index = next
    const { units, cursor } = this.#edited.get(next) ?? stateOf(this.#entries[next] ?? '')
    // The cursor is at the end of an entry, so that Down moves on; the draft keeps its cursor.
    this.#buffer.restore({ units, cursor: next === this.#entries.length ? cursor : units.length })
    return true
  }

  /** Discards the edits. The next step starts at the newest entry. */
  end(): void {
    this.#index = undefined
    this.#edited = new Map()
  }
}

function stateOf(text: string): BufferState {
  const units = splitGraphemes(text)
  return { units, cursor: units.length }
}
