import {
  cleanText,
  isBoundary,
  joinUnits,
  lineEnd,
  lineStart,
  splitUnits,
  type TextUnit,
  textOf,
  wordEnd,
  wordStart,
  wordStartBySpace,
} from './graphemes.ts'
import { plainText } from './pasted-text.ts'

interface Edit {
  at: number
  removed: readonly TextUnit[]
  added: number
  cursor: number
  /** Edits of one group are undone together. */
  group: number
}

/** A text and a cursor. */
export interface BufferState {
  units: readonly TextUnit[]
  cursor: number
}

const maxUndo = 1_000

/**
 * The text that is being edited, as units, and a cursor before one of them. Methods return false if
 * they have no effect.
 */
export class TextBuffer {
  #units: readonly TextUnit[] = []
  #cursor = 0
  #edits: Edit[] = []
  #group = 0
  /** The last typed text, unless another action followed. */
  #typed = ''
  #killed: readonly TextUnit[] = []
  /** Whether the last action was a kill, so that the next kill extends it. */
  #killing = false

  get units(): readonly TextUnit[] {
    return this.#units
  }

  /** Index of the unit after the cursor. */
  get cursor(): number {
    return this.#cursor
  }

  get text(): string {
    return joinUnits(this.#units)
  }

  get state(): BufferState {
    return { units: this.#units, cursor: this.#cursor }
  }

  /** Replaces the text, and discards the undo history. */
  restore({ units, cursor }: BufferState): void {
    this.#units = units
    this.#edits = []
    this.moveTo(cursor)
  }

  /** Replaces the text, and moves the cursor to its end. */
  setText(text: string): void {
    const units = splitUnits([cleanText(text)])
    this.restore({ units, cursor: units.length })
  }

  /** Text of the line up to the cursor, from the last pasted unit on. */
  get lineBefore(): string {
    return joinUnits(this.#units.slice(this.#lineBeforeStart(), this.#cursor))
  }

  insert(text: string): boolean {
    const clean = cleanText(text)
    if (clean === '') return false
    // One undo removes a word, not a letter.
    const continues = this.#typed !== '' && !(/\s$/.test(this.#typed) && !/^\s/.test(clean))
    this.#replace(this.#cursor, this.#cursor, [clean], continues)
    this.#typed = clean
    return true
  }

  /** A long paste becomes one unit. */
  insertPaste(text: string): boolean {
    const clean = cleanText(text)
    const label = describePaste(plainText(clean))
    if (clean === '') return false
    this.#replace(this.#cursor, this.#cursor, [label === undefined ? clean : { text: clean, label }])
    return true
  }

  /** Replaces the text before the cursor. @param from UTF-16 index in `lineBefore` */
  replaceBefore(from: number, text: string): void {
    let index = this.#lineBeforeStart()
    for (let length = 0; index < this.#cursor && length < from; index++) {
      length += textOf(this.#units[index] ?? '').length
    }
    this.#replace(index, this.#cursor, [cleanText(text)])
  }

  deleteBack(): boolean {
    return this.#delete(this.#cursor - 1, this.#cursor)
  }

  deleteForward(): boolean {
    return this.#delete(this.#cursor, this.#cursor + 1)
  }

  killWordBack(): boolean {
    return this.#kill(wordStart(this.#units, this.#cursor), this.#cursor)
  }

  killWordForward(): boolean {
    return this.#kill(this.#cursor, wordEnd(this.#units, this.#cursor))
  }

  /** Kills back to the last space, like Ctrl+W in a shell. */
  killBackToSpace(): boolean {
    return this.#kill(wordStartBySpace(this.#units, this.#cursor), this.#cursor)
  }

  /** Kills to the start of the line; at the start, the line end before it. */
  killToLineStart(): boolean {
    const start = lineStart(this.#units, this.#cursor)
    return this.#kill(start === this.#cursor ? start - 1 : start, this.#cursor)
  }

  /** Kills to the end of the line; at the end, the line end. */
  killToLineEnd(): boolean {
    const end = lineEnd(this.#units, this.#cursor)
    return this.#kill(this.#cursor, end === this.#cursor ? end + 1 : end)
  }

  /** Inserts the text of the last kill. */
  yank(): boolean {
    if (this.#killed.length === 0) return false
    this.#replace(this.#cursor, this.#cursor, this.#killed)
    return true
  }

  /** Swaps the units on both sides of the cursor; at the end of a line, the last two. */
  transpose(): boolean {
    const right = this.#cursor === lineEnd(this.#units, this.#cursor) ? this.#cursor - 1 : this.#cursor
    if (right <= lineStart(this.#units, this.#cursor)) return false
    const [first = '', second = ''] = this.#units.slice(right - 1, right + 1)
    this.#replace(right - 1, right + 1, [second, first])
    return true
  }

  undo(): boolean {
    const last = this.#edits.at(-1)
    if (!last) return false
    this.#endRun()
    while (this.#edits.at(-1)?.group === last.group) {
      const edit = this.#edits.pop()
      if (!edit) break
      this.#splice(edit.at, edit.added, edit.removed)
      this.#cursor = edit.cursor
    }
    return true
  }

  /** Moves the cursor to an index, or to the nearest valid one. */
  moveTo(index: number): boolean {
    this.#endRun()
    const place = Math.max(0, Math.min(index, this.#units.length))
    const moved = place !== this.#cursor
    this.#cursor = place
    return moved
  }

  moveWordLeft(): boolean {
    return this.moveTo(wordStart(this.#units, this.#cursor))
  }

  moveWordRight(): boolean {
    return this.moveTo(wordEnd(this.#units, this.#cursor))
  }

  moveToLineStart(): true {
    this.moveTo(lineStart(this.#units, this.#cursor))
    return true
  }

  moveToLineEnd(): true {
    this.moveTo(lineEnd(this.#units, this.#cursor))
    return true
  }

  /** Whether the cursor is at the end of a line, after a backslash. */
  get lineEndsInBackslash(): boolean {
    const unit = textOf(this.#units[this.#cursor - 1] ?? '')
    return plainText(unit) === '\\' && this.#cursor === lineEnd(this.#units, this.#cursor)
  }

  #lineBeforeStart(): number {
    const start = lineStart(this.#units, this.#cursor)
    const before = this.#units.slice(start, this.#cursor)
    return start + before.findLastIndex((unit) => unit !== plainText(textOf(unit))) + 1
  }

  #kill(start: number, end: number): boolean {
    const continues = this.#killing
    const backwards = end === this.#cursor
    const killed = this.#units.slice(Math.max(0, start), end)
    if (!this.#delete(start, end)) return false
    const [first, second] = backwards ? [killed, this.#killed] : [this.#killed, killed]
    this.#killed = continues ? [...first, ...second] : killed
    this.#killing = true
    return true
  }

  #delete(start: number, end: number): boolean {
    if (start < 0 || end > this.#units.length || start >= end) return false
    this.#replace(start, end, [])
    return true
  }

  /** Replaces units. The cursor moves after the inserted text, or after the grapheme that contains its end. */
  #replace(start: number, end: number, units: readonly TextUnit[], sameGroup = false): void {
    this.#endRun()
    // Graphemes next to the edit may change: a combining mark joins its base, and two letters form a flag.
    let [from, to] = [Math.max(0, start - 1), end]
    while (from > 0 && !isBoundary(this.#units[from] ?? '')) from--
    while (to < this.#units.length && !isBoundary(this.#units[to++] ?? '')) {}
    const before = [...this.#units.slice(from, start), ...units]
    const added = splitUnits([...before, ...this.#units.slice(end, to)])
    if (!sameGroup) this.#group++
    const removed = this.#units.slice(from, to)
    this.#edits.push({ at: from, removed, added: added.length, cursor: this.#cursor, group: this.#group })
    if (this.#edits.length > maxUndo) this.#edits.shift()
    this.#splice(from, removed.length, added)
    const length = joinUnits(before).length
    this.#cursor = from
    for (let reached = 0; reached < length; this.#cursor++) {
      reached += textOf(this.#units[this.#cursor] ?? '').length
    }
  }

  #splice(at: number, removed: number, added: readonly TextUnit[]): void {
    this.#units = this.#units.slice(0, at).concat(added, this.#units.slice(at + removed))
  }

  #endRun(): void {
    this.#typed = ''
    this.#killing = false
  }
}

/** Maximum size of a paste that is shown as text. */
const maxLines = 10
const maxCharacters = 10_000

/** The label of a long paste. Undefined for a short one. @param text with \n as the line end */
function describePaste(text: string): string | undefined {
  const ends = text.split('\n').length - 1
  const lines = text.endsWith('\n') ? ends : ends + 1
  if (lines > maxLines) return `[pasted ${lines} lines]`
  return text.length > maxCharacters ? `[pasted ${text.length} characters]` : undefined
}
