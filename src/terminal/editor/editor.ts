import { Completer, type EditorOptions, type EditorView } from './completer.ts'
import { InputHistoryCursor, InputHistorySearch } from './input-history.ts'
import { bindKeys, chordOf, type Key } from './key.ts'
import { Layout, renderRows, textWidth } from './layout.ts'
import { markPasted } from './pasted-text.ts'
import { type BufferState, TextBuffer } from './text-buffer.ts'

/** The line editor. Handles keys, and produces a view and events; independent of the terminal. */
export class Editor {
  readonly #options: EditorOptions
  readonly #buffer = new TextBuffer()
  readonly #walk: InputHistoryCursor
  readonly #completer: Completer
  readonly #bindings: Record<string, () => boolean>
  #search: InputHistorySearch | undefined
  /** Whether the text was offered, and the next typed character replaces it. */
  #isOffered = false
  /** Columns of the last view, which determine the rows for Up and Down. */
  #columns = 80
  #top = 0
  /** The column that Up and Down keep across shorter rows. */
  #goal: number | undefined

  constructor(options: EditorOptions) {
    this.#options = options
    this.#walk = new InputHistoryCursor(options.recall, this.#buffer)
    this.#completer = new Completer(options, this.#buffer)
    const emit = (type: 'suspend' | 'edit-outside' | 'clear-screen') => () => {
      options.onEvent({ type })
      return true
    }
    this.#bindings = bindKeys(this.#buffer, {
      submit: () => this.#submit(),
      interrupt: () => this.#interrupt(),
      endOrDelete: () => this.#endOrDelete(),
      up: () => this.#moveRow(-1),
      down: () => this.#moveRow(1),
      search: () => this.#beginSearch(),
      suspend: emit('suspend'),
      openExternalEditor: emit('edit-outside'),
      clearScreen: emit('clear-screen'),
    })
  }

  /** The whole text, with the marks of pasted text. */
  get text(): string {
    return this.#buffer.text
  }

  /** Sets the text, and moves the cursor to its end. */
  setText(text: string): void {
    this.#isOffered = false
    this.#search = undefined
    this.#completer.leave()
    this.#walk.end()
    this.#goal = undefined
    this.#buffer.setText(text)
    this.#options.onChange()
  }

  /** Sets a text that the next typed character replaces. A key other than Ctrl+L and Ctrl+Z keeps it for editing. */
  offer(text: string): void {
    this.setText(text)
    this.#isOffered = true
  }

  handle(key: Key): void {
    if (this.#isOffered && key.type !== 'key') {
      this.#buffer.setText('')
      this.#options.onEvent({ type: 'replace' })
    }
    this.#isOffered &&= key.type === 'key' && /^ctrl\+[lz]$/.test(chordOf(key))
    // Also a key without effect removes the completion list, or changes the search.
    const needsRedraw = this.#search !== undefined || this.#completer.list !== undefined
    const done = this.#search ? this.#handleInSearch(this.#search, key) : this.#handleInText(key)
    if (!done) this.#options.onEvent({ type: 'bell' })
    if (done || needsRedraw) this.#options.onChange()
  }

  /** @returns between one and `rows` lines */
  view(columns: number, rows: number): EditorView {
    this.#columns = columns
    if (this.#search) return this.#viewSearch(this.#search, columns, rows)
    const list = this.#completer.list?.show(columns, Math.floor(rows / 2), this.#options.style) ?? []
    const { lines, cursor } = this.#renderRows(this.#buffer.state, columns, rows - list.length)
    return { lines: [...lines, ...list], cursor }
  }

  #viewSearch(search: InputHistorySearch, columns: number, rows: number): EditorView {
    const { line, column } = search.show(columns, this.#options.style)
    const text = search.found ?? this.#buffer.state
    const lines = rows > 1 ? this.#renderRows(text, columns, rows - 1).lines : []
    return { lines: [...lines, line], cursor: { row: lines.length, column } }
  }

  #renderRows(text: BufferState, columns: number, rows: number): EditorView {
    const { top, ...shown } = renderRows(text, { columns, rows, top: this.#top }, this.#options.style)
    this.#top = top
    return shown
  }

  #handleInText(key: Key): boolean {
    const chord = key.type === 'key' ? chordOf(key) : ''
    if (chord === 'tab') return this.#completer.press(1)
    if (chord === 'shift+tab' && this.#completer.list) return this.#completer.press(-1)
    this.#completer.leave()
    if (chord !== 'up' && chord !== 'down') this.#goal = undefined
    if (key.type === 'text') return this.#buffer.insert(key.text)
    if (key.type === 'paste') return this.#buffer.insertPaste(markPasted(key.text))
    const act = this.#bindings[chord]
    // An unbound key is ignored without a bell.
    return act ? act() : true
  }

  #handleInSearch(search: InputHistorySearch, key: Key): boolean {
    if (key.type !== 'key') return search.type(key.text)
    switch (chordOf(key)) {
      case 'ctrl+r':
        return search.findNext()
      case 'backspace':
        return search.deleteBack()
      case 'escape':
      case 'ctrl+c':
      case 'ctrl+g':
        this.#search = undefined
        return true
      case 'enter':
        return this.#takeFound(search)
      default:
        this.#takeFound(search)
        return this.#handleInText(key)
    }
  }

  #beginSearch(): boolean {
    this.#search = new InputHistorySearch([...this.#options.recall.entries])
    return true
  }

  #takeFound(search: InputHistorySearch): boolean {
    this.#search = undefined
    const { found } = search
    if (!found) return true
    this.#walk.end()
    this.#buffer.restore({ units: found.units, cursor: found.units.length })
    return true
  }

  #submit(): boolean {
    const { text, lineEndsInBackslash } = this.#buffer
    if (lineEndsInBackslash) return this.#buffer.deleteBack() && this.#buffer.insert('\n')
    if (text.trim() === '') return true
    // Emitted while the text is still on the screen.
    this.#options.onEvent({ type: 'submit', text })
    this.#clear(text)
    return true
  }

  #interrupt(): boolean {
    const { text } = this.#buffer
    this.#clear(text)
    this.#options.onEvent({ type: 'interrupt', text })
    return true
  }

  #clear(text: string): void {
    if (text.trim() !== '') this.#options.recall.add(text)
    this.#walk.end()
    this.#buffer.setText('')
    this.#top = 0
  }

  #endOrDelete(): boolean {
    if (this.#buffer.units.length > 0) return this.#buffer.deleteForward()
    this.#options.onEvent({ type: 'end' })
    return true
  }

  /** Moves to another row of the text, or to another entry of the input history. */
  #moveRow(step: 1 | -1): boolean {
    const layout = new Layout(this.#buffer.units, textWidth(this.#columns))
    const place = layout.placeOf(this.#buffer.cursor)
    this.#goal ??= place.column
    for (let row = place.row + step; row >= 0 && row < layout.rows; row += step) {
      const index = layout.indexAt(row, this.#goal)
      // A row within a paste label has no cursor position: continue with the next row.
      if (Math.sign(layout.placeOf(index).row - place.row) === step) return this.#buffer.moveTo(index)
    }
    this.#goal = undefined
    return this.#walk.step(step < 0 ? 'older' : 'newer')
  }
}
