import { ControlStripper } from '../strip-controls.ts'
import { Blocks, type MarkdownOptions } from './blocks.ts'
import { type LineStart, readLineStart } from './line-start.ts'
import type { ReplyWriter } from './plain-writer.ts'

/**
 * Renders markdown while it arrives: prose by words, code by lines, tables by rows. Output never
 * changes later, and does not depend on how the text was split: each decision is made at the character
 * that makes it certain.
 *
 * Lines fit into the columns, except code: the terminal wraps it, so that it can be copied unchanged.
 */
export class MarkdownWriter implements ReplyWriter {
  #stripper: Pick<ControlStripper, 'push' | 'end'>
  #blocks: Blocks
  /** Reading the start of a line, its text, or the whole line before it is processed. */
  #mode: 'start' | 'text' | 'whole' = 'start'
  /** The line so far, unless its text is being read. */
  #line = ''
  /** Number of characters of its start so far. */
  #length = 0
  /** Whether any further character may decide the kind of the line. */
  #isNearlyCertain = false
  #start: LineStart | undefined

  constructor(
    options: MarkdownOptions,
    stripper: Pick<ControlStripper, 'push' | 'end'> = new ControlStripper(),
  ) {
    this.#stripper = stripper
    this.#blocks = new Blocks(options)
  }

  push(text: string): string {
    this.#read(this.#stripper.push(text))
    return this.#blocks.output.take()
  }

  end(): string {
    this.#read(this.#stripper.end())
    if (this.#mode === 'text' || this.#line !== '') this.#endLine()
    this.#blocks.end()
    return this.#blocks.output.take()
  }

  #read(text: string): void {
    for (let from = 0; from < text.length; ) {
      const newline = text.indexOf('\n', from)
      const end = newline < 0 ? text.length : newline
      while (from < end) from = this.#readPart(text, from, end)
      if (newline >= 0) this.#endLine()
      from = end + 1
    }
  }

  /** @returns the index up to which it has read */
  #readPart(text: string, from: number, end: number): number {
    if (this.#mode === 'start') return this.#readStart(text, from, end)
    const part = text.slice(from, end)
    if (this.#mode === 'text') this.#blocks.feed(part)
    else this.#line += part
    return end
  }

  #readStart(text: string, from: number, end: number): number {
    const mayBeLong = this.#blocks.mayBeDelimiters && !this.#isNearlyCertain
    let to = from + 1
    if (!this.#isNearlyCertain) {
      const telling = this.#blocks.mayBeDelimiters ? notOfDelimiters : notOfStarts
      const index = text.slice(from, end).search(telling)
      this.#isNearlyCertain = index >= 0
      to = index < 0 ? end : from + index + 1
    }
    const room = mayBeLong ? Number.POSITIVE_INFINITY : longestStart - this.#length
    if (to - from >= room) to = from + room
    this.#line += expandTabs(text.slice(from, to))
    this.#length += to - from
    const isTooLong = to - from === room
    if (this.#isNearlyCertain || isTooLong) this.#decide(isTooLong)
    return to
  }

  #decide(atOnce: boolean): void {
    const start = this.#readLineStart(this.#line, false)
    // A start of this length is text, or what it would be with text after it.
    this.#start = start ?? (atOnce ? this.#readLineStart(`${this.#line}x`, false) : undefined)
    if (this.#start === undefined) return
    this.#mode = this.#start.leaf === 'text' ? 'text' : 'whole'
    if (this.#mode === 'text') this.#blocks.startText(this.#start, this.#line.slice(this.#start.at))
  }

  #endLine(): void {
    if (this.#mode === 'text') this.#blocks.endText()
    else if (!this.#blocks.readCode(this.#line)) {
      const line = this.#start ? this.#line : expandTabs(this.#line)
      const start = this.#start ?? this.#readLineStart(line, true)
      if (start) this.#blocks.readLine(start, line)
    }
    this.#mode = this.#blocks.isInCode ? 'whole' : 'start'
    this.#line = ''
    this.#length = 0
    this.#isNearlyCertain = false
    this.#start = undefined
  }

  #readLineStart(line: string, isWhole: boolean): LineStart | undefined {
    return readLineStart(line, isWhole, this.#blocks.output.containers, this.#blocks.isInParagraph)
  }
}

/** A character that decides the kind of a line. */
const notOfStarts = /[^\s>#0-9.)\-+*_=`~|]/
/** The same, after a line that may be the header of a table. */
const notOfDelimiters = /[^\s>|:-]/
/** Number of characters after which the kind of a line is decided. */
const longestStart = 200

function expandTabs(text: string): string {
  return text.includes('\t') ? text.replaceAll('\t', '    ') : text
}
