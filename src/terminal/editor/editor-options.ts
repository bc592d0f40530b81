import type { InputHistory } from './input-history.ts'

export type EditorEvent =
  /** Enter on a text that is not blank; after it the buffer is empty, and Up recalls the entry. */
  | { type: 'submit'; text: string }
  /** Ctrl+C: `text` is what was there, which Up recalls; empty on an empty line. */
  | { type: 'interrupt'; text: string }
  /** Ctrl+D on an empty text. */
  | { type: 'end' }
  | { type: 'suspend' }
  | { type: 'edit-outside' }
  | { type: 'clear-screen' }
  /** Something was typed in place of a text that was offered. */
  | { type: 'replace' }
  /** There was nothing to do. */
  | { type: 'bell' }

/** What the editor shows: lines no wider than the columns, with escape sequences only from the style. */
export interface EditorView {
  lines: string[]
  /** Counted from 0 in these lines. */
  cursor: { row: number; column: number }
}

export interface EditorOptions {
  recall: InputHistory
  /** @param before text of the line before the cursor */
  complete(before: string): Completions | Promise<Completions>
  onEvent(event: EditorEvent): void
  /** The view must be drawn again. */
  onChange(): void
  style: EditorStyle
}

export interface EditorStyle {
  dim(text: string): string
  reverse(text: string): string
}

export interface Completions {
  /** UTF-16 index in `before` from which up to the cursor is replaced. */
  start: number
  /** One may end in a space. */
  candidates: string[]
}
