import { cleanText, splitGraphemes, truncateToWidth } from './graphemes.ts'
import type { InputHistory } from './input-history.ts'
import type { TextBuffer } from './text-buffer.ts'

/** Handles Tab: requests completions, inserts one, or lists several to choose from. */
export class Completer {
  readonly #options: EditorOptions
  readonly #buffer: TextBuffer
  #list: CompletionList | undefined
  /** The pending request. Any other key cancels it. */
  #pending: symbol | undefined

  constructor(options: EditorOptions, buffer: TextBuffer) {
    this.#options = options
    this.#buffer = buffer
  }

  /** Shown below the text until any other key is pressed. */
  get list(): CompletionList | undefined {
    return this.#list
  }

  /** @returns false if there is nothing to insert */
  press(step: 1 | -1): boolean {
    if (this.#list) {
      this.#list.cycle(this.#buffer, step)
      return true
    }
    if (this.#pending) return true
    const completions = this.#options.complete(this.#buffer.lineBefore)
    if (!(completions instanceof Promise)) return this.#take(CompletionList.begin(this.#buffer, completions))
    const pending = Symbol('completion')
    this.#pending = pending
    const settle = (begin: () => CompletionList | boolean) => {
      if (this.#pending !== pending) return
      this.#pending = undefined
      if (this.#take(begin())) this.#options.onChange()
      else this.#options.onEvent({ type: 'bell' })
    }
    completions.then(
      (found) => settle(() => CompletionList.begin(this.#buffer, found)),
      () => settle(() => false),
    )
    return true
  }

  /** Handles any other key: removes the list, and cancels the pending request. */
  leave(): void {
    this.#list = undefined
    this.#pending = undefined
  }

  #take(taken: CompletionList | boolean): boolean {
    this.#list = typeof taken === 'boolean' ? undefined : taken
    return taken !== false
  }
}

const gap = 2

/** The candidates of a completion, listed below the text. */
class CompletionList {
  readonly #candidates: readonly string[]
  readonly #start: number
  readonly #about: Completions['about']
  /** Index of the candidate that a further Tab inserted. */
  #chosen: number | undefined

  private constructor({ start, candidates, about }: Completions) {
    this.#start = start
    this.#about = about
    this.#candidates = candidates
  }

  /**
   * Inserts the only candidate, or the common prefix of several.
   * @returns the list of several candidates, else whether there was one
   */
  static begin(buffer: TextBuffer, completions: Completions): CompletionList | boolean {
    const candidates = [...new Set(completions.candidates.map(cleanText))]
    const [only] = candidates
    if (only === undefined) return false
    const typed = buffer.lineBefore.slice(completions.start)
    const common = candidates.length === 1 ? only : commonStart(candidates)
    const isExtension = common.toLowerCase().startsWith(typed.toLowerCase())
    if (common !== typed && (candidates.length === 1 || isExtension))
      buffer.replaceBefore(completions.start, common)
    return candidates.length === 1 || new CompletionList({ ...completions, candidates })
  }

  /** Inserts the next or the previous candidate, cyclically. */
  cycle(buffer: TextBuffer, step: 1 | -1): void {
    const count = this.#candidates.length
    const from = this.#chosen ?? (step === 1 ? -1 : count)
    this.#chosen = (from + step + count) % count
    buffer.replaceBefore(this.#start, this.#candidates[this.#chosen] ?? '')
  }

  /** The candidates in columns, in at most `rows` lines. The last line counts the hidden ones. */
  show(columns: number, rows: number, style: EditorStyle): string[] {
    const room = Math.max(1, columns - 1)
    const names = this.#candidates.map((candidate) => {
      const about = this.#about?.get(candidate)
      return truncateToWidth(about === undefined ? candidate.trimEnd() : `${candidate}  ${about}`, room)
    })
    const widest = Math.max(...names.map(({ width }) => width))
    const perLine = this.#about ? 1 : Math.max(1, Math.floor((room + gap) / (widest + gap)))
    const needed = Math.ceil(names.length / perLine)
    const listed = needed <= rows ? needed : rows - 1
    const first = this.#firstLine(listed, perLine)
    const lines = Array.from({ length: Math.max(0, listed) }, (_, line) =>
      names
        .slice((first + line) * perLine, (first + line + 1) * perLine)
        .map(({ text, width }, index, all) => {
          const padding = index === all.length - 1 ? '' : ' '.repeat(widest + gap - width)
          const chosen = (first + line) * perLine + index === this.#chosen
          return (chosen ? style.reverse(text) : style.dim(text)) + padding
        })
        .join(''),
    )
    const hidden = names.length - Math.max(0, listed) * perLine
    if (needed > rows && rows > 0) lines.push(style.dim(truncateToWidth(`… ${hidden} more`, room).text))
    return this.#about ? lines.reverse() : lines
  }

  /** The first visible line, so that the chosen candidate is visible. */
  #firstLine(listed: number, perLine: number): number {
    return Math.max(0, Math.floor((this.#chosen ?? 0) / perLine) - Math.max(listed, 1) + 1)
  }
}

function commonStart(texts: readonly string[]): string {
  const all = texts.map(splitGraphemes)
  const first = all[0] ?? []
  const end = first.findIndex((grapheme, index) => all.some((one) => one[index] !== grapheme))
  return first.slice(0, end < 0 ? undefined : end).join('')
}

export type EditorEvent =
  /** Enter on a text that is not blank. Then the buffer is empty, and Up recalls the text. */
  | { type: 'submit'; text: string }
  /** Ctrl+C. `text` is the discarded text, which Up recalls. */
  | { type: 'interrupt'; text: string }
  /** Ctrl+D on an empty buffer. */
  | { type: 'end' }
  | { type: 'suspend' }
  | { type: 'edit-outside' }
  | { type: 'clear-screen' }
  /** The user typed a text that replaces an offered one. */
  | { type: 'replace' }
  /** The key had no effect. */
  | { type: 'bell' }

/** The lines to show, no wider than the terminal. They contain no escape sequences except those of the style. */
export interface EditorView {
  lines: string[]
  /** Zero-based position in these lines. */
  cursor: { row: number; column: number }
}

export interface EditorOptions {
  recall: InputHistory
  /** @param before text of the line up to the cursor */
  complete(before: string): Completions | Promise<Completions>
  onEvent(event: EditorEvent): void
  /** Requests a redraw of the view. */
  onChange(): void
  style: EditorStyle
}

export interface EditorStyle {
  dim(text: string): string
  reverse(text: string): string
}

export interface Completions {
  /** UTF-16 index in `before` from which a candidate replaces the text. */
  start: number
  /** A candidate may end with a space. */
  candidates: string[]
  /** What a candidate is, shown behind it. Each is then one line, and the first candidate is at the bottom. */
  about?: ReadonlyMap<string, string>
}
