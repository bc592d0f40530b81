import type { Footer } from '../screen/screen.ts'

/** What a person asks for with the keyboard. */
export type InputEvent =
  | { type: 'submit'; text: string }
  /** Ctrl-C; `text` is what it cleared. */
  | { type: 'interrupt'; text: string }
  | { type: 'end' }
  | { type: 'suspend' }
  | { type: 'edit-outside' }
  | { type: 'clear-screen' }
  | { type: 'bell' }

/** Where the person types: the editor, or the lines of a terminal that edits them itself. */
export interface SessionInput {
  /** What has been typed and not submitted. */
  readonly text: string
  /** @returns whether it could be put there */
  setText(text: string): boolean
  /** Takes what the terminal sent, as it came. */
  feed(typed: string): void
  /** Undefined where the terminal shows it. */
  view(columns: number, rows: number): Footer | undefined
  close(): void
}
