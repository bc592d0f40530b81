import type { Completions, EditorOptions, EditorStyle } from './editor-options.ts'
import { cleanText, splitGraphemes, truncateToWidth } from './graphemes.ts'
import type { TextBuffer } from './text-buffer.ts'

/** What Tab does: asks for completions, puts one in, or has a list to choose from. */
export class Completer {
  readonly #options: EditorOptions
  readonly #buffer: TextBuffer
  #list: CompletionList | undefined
  /** The answer that is awaited; any other key makes it stale. */
  #awaited: symbol | undefined

  constructor(options: EditorOptions, buffer: TextBuffer) {
    this.#options = options
    this.#buffer = buffer
  }

  /** Shown under the text until any other key comes. */
  get list(): CompletionList | undefined {
    return this.#list
  }

  /** @returns false when there is nothing to put in */
  press(step: 1 | -1): boolean {
    if (this.#list) {
      this.#list.cycle(this.#buffer, step)
      return true
    }
    if (this.#awaited) return true
    const completions = this.#options.complete(this.#buffer.lineBefore)
    if (!(completions instanceof Promise)) return this.#take(CompletionList.begin(this.#buffer, completions))
    const awaited = Symbol('completion')
    this.#awaited = awaited
    const settle = (begin: () => CompletionList | boolean) => {
      if (this.#awaited !== awaited) return
      this.#awaited = undefined
      if (this.#take(begin())) this.#options.onChange()
      else this.#options.onEvent({ type: 'bell' })
    }
    completions.then(
      (found) => settle(() => CompletionList.begin(this.#buffer, found)),
      () => settle(() => false),
    )
    return true
  }

  /** Another key came: the list goes, and an answer that is still to come is dropped. */
  leave(): void {
    this.#list = undefined
    this.#awaited = undefined
  }

  #take(taken: CompletionList | boolean): boolean {
    this.#list = typeof taken === 'boolean' ? undefined : taken
    return taken !== false
  }
}

const gap = 2

/** What Tab may put in, listed under the text. */
class CompletionList {
  readonly #candidates: readonly string[]
  readonly #start: number
  /** The candidate that a further Tab put in. */
  #chosen: number | undefined

  private constructor({ start, candidates }: Completions) {
    this.#start = start
    this.#candidates = candidates
  }

  /**
   * Puts in the one candidate, or what several have in common.
   *
   * @returns the list to choose from where there are several, else whether there was one
   */
  static begin(buffer: TextBuffer, completions: Completions): CompletionList | boolean {
    const candidates = [...new Set(completions.candidates.map(cleanText))]
    const [only] = candidates
    if (only === undefined) return false
    const typed = buffer.lineBefore.slice(completions.start)
    const common = candidates.length === 1 ? only : commonStart(candidates)
    const goesOn = common.toLowerCase().startsWith(typed.toLowerCase())
    if (common !== typed && (candidates.length === 1 || goesOn))
      buffer.replaceBefore(completions.start, common)
    return candidates.length === 1 || new CompletionList({ start: completions.start, candidates })
  }

  /** Puts in the next candidate, or the one before, round and round. */
  cycle(buffer: TextBuffer, step: 1 | -1): void {
    const count = this.#candidates.length
    const from = this.#chosen ?? (step === 1 ? -1 : count)
    this.#chosen = (from + step + count) % count
    buffer.replaceBefore(this.#start, this.#candidates[this.#chosen] ?? '')
  }

  /** The candidates in columns, in so many lines at most; the last one says how many are not shown. */
  show(columns: number, rows: number, style: EditorStyle): string[] {
    const room = Math.max(1, columns - 1)
    const names = this.#candidates.map((candidate) => truncateToWidth(candidate.trimEnd(), room))
    const widest = Math.max(...names.map(({ width }) => width))
    const perLine = Math.max(1, Math.floor((room + gap) / (widest + gap)))
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
    return lines
  }

  /** The line of candidates shown first, so that the chosen one is among them. */
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
