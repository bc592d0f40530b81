import type { Highlight } from './highlight.ts'
import type { Look } from './run.ts'

export interface MarkdownOptions extends Look {
  /** Of the terminal when the answer began. Prose takes 100 at most. */
  columns: number
  highlight?: Highlight
}
