import type { Highlight } from './highlight.ts'
import type { TextStyle } from './text-style.ts'

export interface MarkdownOptions {
  /** Of the terminal when the answer began. Prose takes 100 at most. */
  columns: number
  style: TextStyle
  /** Makes text clickable without changing its width (OSC 8); without it, addresses are written out. */
  link?: (text: string, url: string) => string
  highlight?: Highlight
}
