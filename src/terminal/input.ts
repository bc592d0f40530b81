import type { EditorEvent, EditorView } from './editor/completer.ts'

/** The input of a session: the line editor, or lines that the terminal edits itself. */
export interface SessionInput {
  /** The text that is not submitted yet. */
  readonly text: string
  /** @returns whether the input now contains the text */
  setText(text: string): boolean
  /** Sets a text that the next typed character replaces. @returns whether the input now contains it */
  offer(text: string): boolean
  /** Takes characters as the terminal sends them. */
  feed(typed: string): void
  /** Undefined if the terminal shows its input itself. */
  view(columns: number, rows: number): EditorView | undefined
  close(): void
}

/**
 * Input from a terminal whose cursor cannot be moved. The terminal itself edits each line. A backslash
 * at the end of a line continues the text on the next line.
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

  /** Discards the earlier lines. The line that the terminal edits cannot be set, so only an empty text succeeds. */
  setText(text: string): boolean {
    this.#lines = []
    this.#typed = ''
    return text === ''
  }

  /** Not possible: the terminal edits its line itself. */
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
