import { FencedCode, type Highlight, IndentedCode, opensFence } from './code-block.ts'
import { IndentedOutput } from './indented-output.ts'
import { inlineRuns, inlineRunsOf } from './inline-runs.ts'
import { InlineText } from './inline-text.ts'
import { type Container, type LineStart, matchContainers } from './line-start.ts'
import { readDelimiters, splitRow, TableBlock } from './table-block.ts'
import { type Formatting, type Mark, unmarked } from './text-style.ts'
import { WordWrapper } from './word-wrapper.ts'

export interface MarkdownOptions extends Formatting {
  /** Width of the terminal, which may change. Prose uses at most 100 columns. */
  readonly columns: number
  highlight?: Highlight
  /** Whether the whole reply is known, so that no row of a table is shown before its last one. */
  isWhole?: boolean
  /** Receives the code of each fenced block. */
  codeBlocks?: string[]
}

const widestProse = 100

/** Renders the blocks of a reply, line by line. The caller has determined the kind of each line. */
export class Blocks {
  readonly output: IndentedOutput
  #options: MarkdownOptions
  #paragraph: InlineText | undefined
  #fence: FencedCode | undefined
  #indentedCode: IndentedCode | undefined
  #table: TableBlock | undefined
  /** A line that may be the header of a table. The next line decides. */
  #header: string | undefined

  constructor(options: MarkdownOptions) {
    this.#options = options
    this.output = new IndentedOutput(() => Math.max(2, options.columns), options)
  }

  get #proseWidth(): number {
    return Math.min(this.output.room, widestProse)
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

  /** Begins a line of text. It may continue the paragraph even outside its containers (CommonMark 5.1, laziness). */
  startText(start: LineStart, text: string): void {
    this.#settle()
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

  endText(): void {
    this.#paragraph?.endLine()
  }

  /** @param line the whole line, with its containers */
  readLine(start: LineStart, line: string): void {
    const content = line.slice(start.at)
    const isSameBlock = start.kept === this.output.depth && start.opened.length === 0
    if (isSameBlock && this.#readTable(start, content)) return
    if (isSameBlock && this.#indentedCode && start.leaf === 'blank') {
      this.#indentedCode.addEmptyLine()
      return
    }
    if (!isSameBlock || start.leaf !== 'indented') this.#settle()
    switch (start.leaf) {
      case 'blank':
        this.#enter(start)
        if (start.opened.length === 0) this.output.separate()
        break
      case 'heading':
        this.#enter(start)
        if (start.opened.length === 0) this.output.separate()
        this.#showHeading(content)
        break
      case 'rule':
        this.#enter(start)
        this.#showRule()
        break
      case 'indented':
        this.#enter(start)
        this.#settleTable()
        this.#indentedCode ??= new IndentedCode(this.output, this.#options.style)
        this.#indentedCode.add(line.slice(start.at - start.indent + 4))
        break
      case 'row':
        if (!isSameBlock) this.#enter(start)
        this.#header = content
        break
      default:
        if (start.leaf === 'fence' && opensFence(content)) {
          this.#enter(start)
          this.#options.codeBlocks?.push('')
          const { style, highlight } = this.#options
          this.#fence = new FencedCode(content, start.indent, this.output, style, highlight)
        } else {
          this.startText(start, content)
          this.endText()
        }
    }
  }

  /** @param line the whole line, with its containers @returns whether it belongs to a block of fenced code */
  readCode(line: string): boolean {
    if (!this.#fence) return false
    const { containers } = this.output
    const { kept, at } = matchContainers(line, containers)
    // In a list, models often indent code less than CommonMark requires. Outside its quote, code ends.
    const hasLeftQuote = containers.slice(kept).some(isQuote)
    if (!hasLeftQuote && !this.#fence.isClosedBy(line.slice(at))) {
      // From such a line on, all spaces belong to the code.
      this.#fence.isLessIndented ||= kept < containers.length
      const start = this.#fence.isLessIndented ? matchContainers(line, containers.filter(isQuote)).at : at
      this.#readCodeLine(this.#fence, line.slice(start))
      return true
    }
    this.#fence.close()
    this.#fence = undefined
    return !hasLeftQuote
  }

  #readCodeLine(fence: FencedCode, line: string): void {
    const { codeBlocks = [] } = this.#options
    codeBlocks.push(`${codeBlocks.pop() ?? ''}${fence.add(line)}\n`)
  }

  end(): void {
    this.#settle()
    this.#fence?.close()
    this.#closeParagraph()
    this.output.keep(0)
    this.output.endLine()
  }

  #enter({ kept, opened }: LineStart): void {
    this.#closeParagraph()
    this.output.keep(kept)
    for (const container of opened) this.output.open(container)
  }

  #openText(): InlineText {
    const wrapper = new WordWrapper(() => this.#proseWidth, this.output, this.#options)
    return new InlineText((piece, isGlued) =>
      wrapper.add(inlineRuns(piece, unmarked, this.#options), isGlued),
    )
  }

  #closeParagraph(): void {
    this.#paragraph?.finish()
    this.#paragraph = undefined
    this.output.endLine()
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
    this.#table = new TableBlock(header, alignments, this.output, this.#options)
    return true
  }

  /** Ends the block of indented code or the table. */
  #settle(): void {
    if (this.#indentedCode?.close()) this.output.separate()
    this.#indentedCode = undefined
    this.#settleTable()
  }

  /** Ends the table. A line that only looked like a header becomes text. */
  #settleTable(): void {
    this.#table?.end()
    this.#table = undefined
    const header = this.#header
    if (header === undefined) return
    this.#header = undefined
    this.startText({ kept: this.output.depth, opened: [], leaf: 'text', at: 0, indent: 0 }, header)
    this.endText()
  }

  #showHeading(content: string): void {
    const level = /^#+/.exec(content)?.[0].length ?? 1
    const { style } = this.#options
    // The # marks show the level, and mark a heading even without color.
    this.output.write(style.dim(`${'#'.repeat(level)} `))
    const marks: readonly Mark[] = level === 1 ? ['bold', 'underline'] : ['bold']
    const wrapper = new WordWrapper(() => this.#proseWidth, this.output, this.#options)
    wrapper.skip(level + 1)
    wrapper.add(inlineRunsOf(withoutClosingMarks(content.slice(level).trim()), marks, this.#options))
    this.output.endLine()
  }

  #showRule(): void {
    this.output.write(this.#options.style.dim('─'.repeat(this.#proseWidth)))
    this.output.newLine()
  }
}

/** `## Title ##` has the same text as `## Title`. */
function withoutClosingMarks(text: string): string {
  let end = text.length
  while (text.charAt(end - 1) === '#') end--
  const isMark = end === 0 || text.charAt(end - 1) === ' '
  return isMark ? text.slice(0, end).trimEnd() : text
}

function isQuote({ kind }: Container): boolean {
  return kind === 'quote'
}
