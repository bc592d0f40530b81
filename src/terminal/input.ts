import type { Footer } from './screen/screen.ts'

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
  view(columns: number, rows: number): Footer | undefined
  close(): void
}
