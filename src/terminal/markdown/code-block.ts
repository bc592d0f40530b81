import { truncateToWidth } from '../editor/graphemes.ts'
import type { IndentedOutput } from './indented-output.ts'
import type { TextStyle } from './text-style.ts'

/**
 * Shows a block of code between two marks, the first one with the language. The code itself has no margin
 * and no mark, and the terminal wraps it, so that it can be copied unchanged.
 */
class CodeFrame {
  readonly #output: IndentedOutput
  readonly #style: TextStyle

  constructor(output: IndentedOutput, style: TextStyle, language = '') {
    this.#output = output
    this.#style = style
    const mark = language === '' ? '┌─' : `┌─ ${truncateToWidth(language, longestLabel).text}`
    output.writeBare(style.dim(mark))
  }

  write(code: string): void {
    this.#output.writeBare(code)
  }

  close(): void {
    this.#output.writeBare(this.#style.dim('└─'))
  }
}

/** Columns of the name of a language. */
const longestLabel = 30

/** A block of fenced code that is being read (CommonMark, section 4.5). */
export class FencedCode {
  /** Whether a line of code was indented less than its list item. */
  isLessIndented = false
  readonly #mark: string
  readonly #indent: number
  readonly #frame: CodeFrame
  readonly #paint: ((line: string) => string) | undefined

  /**
   * @param opening the line that opens the block, without its indent
   * @param indent spaces before it, also removed from each line
   */
  constructor(
    opening: string,
    indent: number,
    output: IndentedOutput,
    style: TextStyle,
    highlight: Highlight | undefined,
  ) {
    this.#mark = /^(?:`+|~+)/.exec(opening)?.[0] ?? ''
    this.#indent = indent
    const language = /^\s*([^\s,{:]+)/.exec(opening.slice(this.#mark.length, this.#mark.length + 100))?.[1]
    this.#frame = new CodeFrame(output, style, language)
    this.#paint = language === undefined ? undefined : highlight?.(language.toLowerCase(), style)
  }

  isClosedBy(line: string): boolean {
    const text = line.trim()
    return (
      text.length >= this.#mark.length &&
      text.startsWith(this.#mark) &&
      leadingSpaces(line) <= 3 &&
      text === this.#mark.charAt(0).repeat(text.length)
    )
  }

  /** @returns the code of the line */
  add(line: string): string {
    const code = line.slice(Math.min(leadingSpaces(line), this.#indent))
    this.#frame.write(this.#paint?.(code) ?? code)
    return code
  }

  close(): void {
    this.#frame.close()
  }
}

/** A block of indented code that is being read (CommonMark, section 4.4). */
export class IndentedCode {
  readonly #frame: CodeFrame
  /** Empty lines that belong to the block only if more code follows. */
  #emptyLines = 0

  constructor(output: IndentedOutput, style: TextStyle) {
    this.#frame = new CodeFrame(output, style)
  }

  add(line: string): void {
    for (; this.#emptyLines > 0; this.#emptyLines--) this.#frame.write('')
    this.#frame.write(line)
  }

  addEmptyLine(): void {
    this.#emptyLines++
  }

  /** @returns whether empty lines follow the block */
  close(): boolean {
    this.#frame.close()
    return this.#emptyLines > 0
  }
}

/** Whether a whole line opens a fence. The info string after backticks cannot contain a backtick. */
export function opensFence(line: string): boolean {
  const info = line.replace(/^`+/, '')
  return info === line || !info.includes('`')
}

function leadingSpaces(line: string): number {
  let length = 0
  while (line.charAt(length) === ' ') length++
  return length
}

/** Creates a function that colors the lines of one code block, in order. Undefined for an unknown language. */
export type Highlight = (language: string, style: TextStyle) => ((line: string) => string) | undefined

/** Loads the highlighter and its languages. Takes time, so call it before the first line of code. */
export async function loadHighlight(): Promise<Highlight> {
  const { LineHighlighter, knows } = await import('./line-highlighter.ts')
  return (language, style) => {
    if (!knows(language)) return undefined
    const highlighter = new LineHighlighter(language, style)
    return (line) => highlighter.read(line)
  }
}
