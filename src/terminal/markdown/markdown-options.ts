import type { Highlight } from './highlight.ts'
import type { Look } from './run.ts'

export interface MarkdownOptions extends Look {
  /** Of the terminal, which may be resized. Prose takes 100 at most. */
  readonly columns: number
  highlight?: Highlight
}
