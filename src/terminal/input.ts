import type { EditorEvent, EditorView } from './editor/editor-options.ts'

/** Where the person types: the editor, or the lines of a terminal that edits them itself. */
export interface SessionInput {
  /** What has been typed and not submitted. */
  readonly text: string
  /** @returns whether it could be put there */
  setText(text: string): boolean
  /** The same for a text that what is typed next replaces. @returns whether it could be put there */
  offer(text: string): boolean
  /** Takes what the terminal sent, as it came. */
  feed(typed: string): void
  /** Undefined where the terminal shows it. */
  view(columns: number, rows: number): EditorView | undefined
  close(): void
}

/**
 * Lines that the terminal itself lets a person edit: for one whose cursor cannot be moved. A
 * backslash at the end of a line goes on with the next.
 */
export class LineInput implements SessionInput {
  readonly #onEvent: (event: EditorEvent) => void
  #typed = ''
  #lines: string[] = []

  constructor(onEvent: (event: EditorEvent) => void) {
    this.#onEvent = onEvent
  }

  get text(): string {
    return [...this.#lines, this.#typed].join('\n')
  }

  /** The terminal cannot be told what its line holds; what went before that is forgotten. */
  setText(text: string): boolean {
    this.#lines = []
    this.#typed = ''
    return text === ''
  }

  /** The terminal cannot be given a line. */
  offer(): boolean {
    return false
  }

  feed(typed: string): void {
    const lines = typed.split('\n')
    const rest = lines.pop() ?? ''
    for (const line of lines) this.#take(line)
    this.#typed += rest
  }

  view(): undefined {
    return undefined
  }

  close(): void {}

  #take(end: string): void {
    const line = this.#typed + end
    this.#typed = ''
    if (line.endsWith('\\')) {
      this.#lines.push(line.slice(0, -1))
      return
    }
    const text = [...this.#lines, line].join('\n')
    this.#lines = []
    this.#onEvent(text.trim() === '' ? { type: 'bell' } : { type: 'submit', text })
  }
}
