import type { InputHistory } from './input-history.ts'

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
  /** The person typed a text that replaces an offered one. */
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
  /** What a candidate is, shown behind it in the list. */
  about?: ReadonlyMap<string, string>
}
