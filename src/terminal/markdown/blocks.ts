import type { Highlight } from './highlight.ts'
import { inlineRuns, inlineRunsOf } from './inline-runs.ts'
import { InlineText } from './inline-text.ts'
import { LineFiller } from './line-filler.ts'
import { type LineStart, matchContainers } from './line-start.ts'
import { Page } from './page.ts'
import { readDelimiters, splitRow, TableBlock } from './table-block.ts'
import { type Look, type Mark, type TextStyle, unmarked } from './text-style.ts'

export interface MarkdownOptions extends Look {
  /** Of the terminal, which may be resized. Prose takes 100 at most. */
  readonly columns: number
  highlight?: Highlight
}

const widestProse = 100
const codeIndent = '  '

/** The blocks of an answer, line by line. What each line is has been found out before. */
export class Blocks {
  readonly page: Page
  #options: MarkdownOptions
  #paragraph: InlineText | undefined
  #fence: Fence | undefined
  #table: TableBlock | undefined
  /** A line that may be the header of a table: the next one tells. */
  #header: string | undefined

  constructor(options: MarkdownOptions) {
    this.#options = options
    this.page = new Page(() => Math.max(2, options.columns), options)
  }

  get #proseWidth(): number {
    return Math.min(this.page.room, widestProse)
  }

  get isInParagraph(): boolean {
    return this.#paragraph !== undefined || this.#header !== undefined
  }

  get isInCode(): boolean {
    return this.#fence !== undefined
  }

  get mayBeDelimiters(): boolean {
    return this.#header !== undefined
  }

  /** A line of text begins, or goes on with the paragraph: even outside its containers (CommonMark, section 5.1). */
  startText(start: LineStart, text: string): void {
    this.#settleTable()
    if (this.#paragraph && start.opened.length === 0) {
      this.#paragraph.continueLine()
    } else {
      this.#enter(start)
      this.#paragraph = this.#openText()
    }
    this.#paragraph.feed(text)
  }

  /** @param text more of the line */
  feed(text: string): void {
    this.#paragraph?.feed(text)
  }

  /** The line of text is over. */
  endText(): void {
    this.#paragraph?.endLine()
  }

  /** @param line whole, with its containers */
  readLine(start: LineStart, line: string): void {
    const content = line.slice(start.at)
    const isSameBlock = start.kept === this.page.depth && start.opened.length === 0
    if (isSameBlock && this.#readTable(start, content)) return
    this.#settleTable()
    switch (start.leaf) {
      case 'blank':
        this.#enter(start)
        if (start.opened.length === 0) this.page.separate()
        break
      case 'heading':
        this.#enter(start)
        if (start.opened.length === 0) this.page.separate()
        this.#showHeading(content)
        break
      case 'rule':
        this.#enter(start)
        this.#showRule()
        break
      case 'indented':
        this.#enter(start)
        this.#showCode(line.slice(start.at - start.indent + 4))
        break
      case 'row':
        if (!isSameBlock) this.#enter(start)
        this.#header = content
        break
      default:
        if (start.leaf === 'fence' && opensFence(content)) {
          this.#enter(start)
          this.#fence = new Fence(content, start.indent, this.#options.style, this.#options.highlight)
        } else {
          this.startText(start, content)
          this.endText()
        }
    }
  }

  /**
   * @param line whole, with its containers
   * @returns whether it belongs to a block of fenced code
   */
  readCode(line: string): boolean {
    if (!this.#fence) return false
    const { kept, at } = matchContainers(line, this.page.containers)
    // In a list, code is often indented less than the list asks for; outside a quote it is over.
    if (this.page.containers.slice(kept).some(({ kind }) => kind === 'quote')) {
      this.#fence = undefined
      return false
    }
    const code = line.slice(at)
    if (this.#fence.isClosedBy(code)) this.#fence = undefined
    else this.#showCode(this.#fence.read(code))
    return true
  }

  /** The answer is over. */
  end(): void {
    this.#settleTable()
    this.#closeParagraph()
    this.page.keep(0)
    this.page.endLine()
  }

  #enter({ kept, opened }: LineStart): void {
    this.#closeParagraph()
    this.page.keep(kept)
    for (const container of opened) this.page.open(container)
  }

  #openText(): InlineText {
    const filler = new LineFiller(() => this.#proseWidth, this.page, this.#options)
    return new InlineText((piece, isGlued) => filler.add(inlineRuns(piece, unmarked, this.#options), isGlued))
  }

  #closeParagraph(): void {
    this.#paragraph?.finish()
    this.#paragraph = undefined
    this.page.endLine()
  }

  #readTable({ leaf }: LineStart, content: string): boolean {
    if (this.#table && leaf === 'row') {
      this.#table.add(content)
      return true
    }
    const header = this.#header
    const alignments = header === undefined ? undefined : readDelimiters(content)
    if (header === undefined || alignments?.length !== splitRow(header).length) return false
    this.#header = undefined
    this.#closeParagraph()
    this.#table = new TableBlock(header, alignments, this.page, this.#options)
    return true
  }

  /** The table is over; what only looked like its header is text. */
  #settleTable(): void {
    this.#table?.end()
    this.#table = undefined
    const header = this.#header
    if (header === undefined) return
    this.#header = undefined
    this.startText({ kept: this.page.depth, opened: [], leaf: 'text', at: 0, indent: 0 }, header)
    this.endText()
  }

  #showHeading(content: string): void {
    const level = /^#+/.exec(content)?.[0].length ?? 1
    const { style } = this.#options
    // The marks tell the levels apart, and show a heading even without color.
    this.page.write(style.dim(`${'#'.repeat(level)} `))
    const marks: readonly Mark[] = level === 1 ? ['bold', 'underline'] : ['bold']
    const filler = new LineFiller(() => this.#proseWidth, this.page, this.#options)
    filler.skip(level + 1)
    filler.add(inlineRunsOf(withoutClosingMarks(content.slice(level).trim()), marks, this.#options))
    this.page.endLine()
  }

  #showRule(): void {
    this.page.write(this.#options.style.dim('─'.repeat(this.#proseWidth)))
    this.page.newLine()
  }

  /** Code is left to the terminal to wrap, so that a copy of it has no newline that is not its own. */
  #showCode(code: string): void {
    if (code.trim() === '') {
      this.page.leaveLine()
      return
    }
    this.page.write(codeIndent + code)
    this.page.newLine()
  }
}

/** `## Title ##` has the same text as `## Title`. */
function withoutClosingMarks(text: string): string {
  let end = text.length
  while (text.charAt(end - 1) === '#') end--
  const isMark = end === 0 || text.charAt(end - 1) === ' '
  return isMark ? text.slice(0, end).trimEnd() : text
}

/** A block of fenced code that is being read (CommonMark, section 4.5). */
class Fence {
  #mark: string
  #indent: number
  #paint: ((line: string) => string) | undefined

  /**
   * @param opening the line that opens it, without its indent
   * @param indent spaces before it, of which its lines lose as many
   */
  constructor(opening: string, indent: number, style: TextStyle, highlight: Highlight | undefined) {
    this.#mark = /^(?:`+|~+)/.exec(opening)?.[0] ?? ''
    this.#indent = indent
    const language = /^\s*([^\s,{:]+)/.exec(opening.slice(this.#mark.length, this.#mark.length + 100))?.[1]
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

  /** The line as code, colored. */
  read(line: string): string {
    const code = line.slice(Math.min(leadingSpaces(line), this.#indent))
    return this.#paint?.(code) ?? code
  }
}

/** Whether a line opens a fence, once it is whole: what follows backticks has none. */
function opensFence(line: string): boolean {
  const info = line.replace(/^`+/, '')
  return info === line || !info.includes('`')
}

function leadingSpaces(line: string): number {
  let length = 0
  while (line.charAt(length) === ' ') length++
  return length
}
