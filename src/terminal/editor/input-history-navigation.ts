import type { EditorStyle } from './editor-options.ts'
import { cleanText, showGrapheme, splitGraphemes, widthOf } from './graphemes.ts'
import type { InputHistory } from './input-history.ts'
import type { BufferState, TextBuffer } from './text-buffer.ts'

/** The search backwards through the entries that Ctrl+R begins. */
export class InputHistorySearch {
  readonly #entries: readonly string[]
  #word: string[] = []
  /** Index of the entry found; undefined before there was one. */
  #found: number | undefined
  #failed = false

  constructor(entries: readonly string[]) {
    this.#entries = entries
  }

  /** The entry found, the cursor where the word is in it. */
  get found(): BufferState | undefined {
    if (this.#found === undefined) return undefined
    const entry = this.#entries[this.#found] ?? ''
    const cursor = splitGraphemes(entry.slice(0, Math.max(0, this.#positionIn(entry)))).length
    return { units: splitGraphemes(entry), cursor }
  }

  /** More of the word: the entry found stays as long as it holds it. */
  type(text: string): boolean {
    this.#word = splitGraphemes(this.#word.join('') + cleanText(text).replace(/[\n\t]+/g, ' '))
    return this.#find(this.#found ?? this.#entries.length - 1)
  }

  /** Less of the word: the newest entry that holds it. */
  deleteBack(): boolean {
    if (this.#word.length === 0) return false
    this.#word.pop()
    this.#found = undefined
    this.#failed = false
    if (this.#word.length > 0) this.#find(this.#entries.length - 1)
    return true
  }

  /** The next older entry that holds the word and is not what is shown already. */
  goOn(): boolean {
    if (this.#word.length === 0) return false
    const shown = this.#found === undefined ? undefined : this.#entries[this.#found]
    return this.#find((this.#found ?? this.#entries.length) - 1, shown)
  }

  /** The line `search: word`, the end of the word in view, and the cursor's column after it. */
  show(columns: number, style: Pick<EditorStyle, 'dim'>): { line: string; column: number } {
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

  /** A word in small letters finds large ones too. */
  #positionIn(entry: string): number {
    const word = this.#word.join('')
    const small = word === word.toLowerCase()
    return (small ? entry.toLowerCase() : entry).indexOf(word)
  }
}

/**
 * Goes back and forth through the entries. What is left behind at each of them, the draft above
 * all, is there again on the way back.
 */
export class InputHistoryCursor {
  readonly #recall: InputHistory
  readonly #buffer: TextBuffer
  /** By the index of the entry; the draft has the one after the last. */
  #left = new Map<number, BufferState>()
  #entries: readonly string[] = []
  #index: number | undefined

  constructor(recall: InputHistory, buffer: TextBuffer) {
    this.#recall = recall
    this.#buffer = buffer
  }

  /** @returns false where there is no older entry, or no newer one */
  step(direction: 'older' | 'newer'): boolean {
    if (this.#index === undefined) this.#entries = [...this.#recall.entries]
    const index = this.#index ?? this.#entries.length
    const next = direction === 'older' ? index - 1 : index + 1
    if (next < 0 || next > this.#entries.length) return false
    this.#left.set(index, this.#buffer.state)
    this.#index = next
    const { units, cursor } = this.#left.get(next) ?? stateOf(this.#entries[next] ?? '')
    // At the end of an entry one more Down goes on; the draft is as it was.
    this.#buffer.restore({ units, cursor: next === this.#entries.length ? cursor : units.length })
    return true
  }

  /** The next step begins at the newest entry again. */
  end(): void {
    this.#index = undefined
    this.#left = new Map()
  }
}

function stateOf(text: string): BufferState {
  const units = splitGraphemes(text)
  return { units, cursor: units.length }
}
