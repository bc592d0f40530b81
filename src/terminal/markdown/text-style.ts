import type { Highlight } from './highlight.ts'
import type { Look } from './run.ts'

/** How text can be made to look. Without colour each function returns its text. */
export interface TextStyle {
  bold(text: string): string
  italic(text: string): string
  dim(text: string): string
  underline(text: string): string
  strike(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  blue(text: string): string
  magenta(text: string): string
  cyan(text: string): string
}

export type Mark = keyof TextStyle

const same = (text: string): string => text

export const plainStyle: TextStyle = {
  bold: same,
  italic: same,
  dim: same,
  underline: same,
  strike: same,
  red: same,
  green: same,
  yellow: same,
  blue: same,
  magenta: same,
  cyan: same,
}

export interface MarkdownOptions extends Look {
  /** Of the terminal, which may be resized. Prose takes 100 at most. */
  readonly columns: number
  highlight?: Highlight
}
