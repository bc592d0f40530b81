import { cleanText, isBoundary, joinUnits, resegment, type TextUnit, textOf } from './graphemes.ts'
import { lineEnd, lineStart, wordEnd, wordStart, wordStartBySpace } from './text-boundaries.ts'

interface Edit {
  at: number
  removed: readonly TextUnit[]
  added: number
  cursor: number
  /** Edits that one undo takes back together have the same. */
  group: number
}

/** Text and cursor at one time, pastes as they were. */
export interface BufferState {
  units: readonly TextUnit[]
  cursor: number
}

const undoable = 1_000

/**
 * The text being edited, as units, and a cursor that stands before one of them. Methods that find
 * nothing to do return false.
 */
export class TextBuffer {
  #units: readonly TextUnit[] = []
  #cursor = 0
  #edits: Edit[] = []
  #group = 0
  /** What was typed last, as long as nothing else was done since. */
  #typed = ''
  #killed: readonly TextUnit[] = []
  /** The last thing done was a kill, so the next one adds to it. */
  #killing = false

  get units(): readonly TextUnit[] {
    return this.#units
  }

  /** Index of the unit that the cursor stands before. */
  get cursor(): number {
    return this.#cursor
  }

  get text(): string {
    return joinUnits(this.#units)
  }

  get state(): BufferState {
    return { units: this.#units, cursor: this.#cursor }
  }

  /** Puts a text in place of another; there is no undo beyond that. */
  restore({ units, cursor }: BufferState): void {
    this.#units = units
    this.#edits = []
    this.moveTo(cursor)
  }

  /** The cursor is at the end then. */
  setText(text: string): void {
    const units = resegment([cleanText(text)])
    this.restore({ units, cursor: units.length })
  }

  /** Text of the line before the cursor, as far as it was not pasted as one. */
  get lineBefore(): string {
    return joinUnits(this.#units.slice(this.#lineBeforeStart(), this.#cursor))
  }

  insert(text: string): boolean {
    const clean = cleanText(text)
    if (clean === '') return false
    // One undo takes back a word, not a letter.
    const goesOn = this.#typed !== '' && !(/\s$/.test(this.#typed) && !/^\s/.test(clean))
    this.#replace(this.#cursor, this.#cursor, [clean], goesOn)
    this.#typed = clean
    return true
  }

  /** A long paste becomes one unit. */
  insertPaste(text: string): boolean {
    const clean = cleanText(text)
    const label = describePaste(clean)
    if (clean === '') return false
    this.#replace(this.#cursor, this.#cursor, [label === undefined ? clean : { text: clean, label }])
    return true
  }

  /** @param from UTF-16 index in `lineBefore` from which up to the cursor is replaced */
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

  /** Back to the last space, as Ctrl+W does in a shell. */
  killBackToSpace(): boolean {
    return this.#kill(wordStartBySpace(this.#units, this.#cursor), this.#cursor)
  }

  /** At the start of a line it is the line end before it. */
  killToLineStart(): boolean {
    const start = lineStart(this.#units, this.#cursor)
    return this.#kill(start === this.#cursor ? start - 1 : start, this.#cursor)
  }

  /** At the end of a line it is the line end. */
  killToLineEnd(): boolean {
    const end = lineEnd(this.#units, this.#cursor)
    return this.#kill(this.#cursor, end === this.#cursor ? end + 1 : end)
  }

  /** Puts in what was killed last. */
  yank(): boolean {
    if (this.#killed.length === 0) return false
    this.#replace(this.#cursor, this.#cursor, this.#killed)
    return true
  }

  /** Exchanges the units on both sides of the cursor; at the end of a line the last two. */
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

  /** The nearest place to an index. */
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

  /** The cursor is at the end of a line, after a backslash. */
  get lineEndsInBackslash(): boolean {
    return this.#units[this.#cursor - 1] === '\\' && this.#cursor === lineEnd(this.#units, this.#cursor)
  }

  #lineBeforeStart(): number {
    const start = lineStart(this.#units, this.#cursor)
    const before = this.#units.slice(start, this.#cursor)
    return start + before.findLastIndex((unit) => typeof unit !== 'string') + 1
  }

  #kill(start: number, end: number): boolean {
    const goesOn = this.#killing
    const backwards = end === this.#cursor
    const killed = this.#units.slice(Math.max(0, start), end)
    if (!this.#delete(start, end)) return false
    const [first, second] = backwards ? [killed, this.#killed] : [this.#killed, killed]
    this.#killed = goesOn ? [...first, ...second] : killed
    this.#killing = true
    return true
  }

  #delete(start: number, end: number): boolean {
    if (start < 0 || end > this.#units.length || start >= end) return false
    this.#replace(start, end, [])
    return true
  }

  /** The cursor is after what was put in, or after the grapheme into which that grew. */
  #replace(start: number, end: number, units: readonly TextUnit[], sameGroup = false): void {
    this.#endRun()
    // As far as graphemes may change: a mark joins what it follows, two halves make a flag.
    let [from, to] = [Math.max(0, start - 1), end]
    while (from > 0 && !isBoundary(this.#units[from] ?? '')) from--
    while (to < this.#units.length && !isBoundary(this.#units[to++] ?? '')) {}
    const before = [...this.#units.slice(from, start), ...units]
    const added = resegment([...before, ...this.#units.slice(end, to)])
    if (!sameGroup) this.#group++
    const removed = this.#units.slice(from, to)
    this.#edits.push({ at: from, removed, added: added.length, cursor: this.#cursor, group: this.#group })
    if (this.#edits.length > undoable) this.#edits.shift()
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

/** A paste of more lines, or of more characters, is shown as a label. */
const maxLines = 10
const maxCharacters = 10_000

/**
 * What to show in the place of a long paste; undefined where it is short enough to be shown.
 *
 * @param text with \n as the line end
 */
function describePaste(text: string): string | undefined {
  const ends = text.split('\n').length - 1
  const lines = text.endsWith('\n') ? ends : ends + 1
  if (lines > maxLines) return `[pasted ${lines} lines]`
  return text.length > maxCharacters ? `[pasted ${text.length} characters]` : undefined
}
