import { largestRow, rowTooLarge } from './largest-row.ts'
import { type TextLine, TextLines } from './text-lines.ts'

/** One item of a list at the left margin, or a whole document that is none. */
export interface YamlPart {
  type: 'item' | 'document'
  line: number
  raw: string
}

const blank = /^\s*(#.*)?$/
const documentStart = /^---(\s|$)/
const documentEnd = /^\.\.\.(\s|$)/
const item = /^-(\s|$)/

/**
 * Takes YAML apart before it is parsed, so that one row is parsed at a time: a line with `- ` at the
 * left margin begins an item, `---` a document (YAML 1.2.2 section 9.2).
 */
export class YamlParts {
  readonly #name: string
  readonly #lines: TextLines
  #open: { type: YamlPart['type']; line: number; lines: string[]; size: number } | undefined

  /** @param name of the input, for errors */
  constructor(name: string) {
    this.#name = name
    this.#lines = new TextLines(name)
  }

  /**
   * @param isLast nothing comes after this
   * @throws Failure `refused` for a part that is too large
   */
  take(text: string, isLast: boolean): YamlPart[] {
    const parts: YamlPart[] = []
    for (const line of this.#lines.take(text, isLast)) this.#takeLine(line, parts)
    if (isLast) this.#close(parts)
    return parts
  }

  #takeLine(whole: TextLine, parts: YamlPart[]): void {
    const { text } = whole
    if (documentStart.test(text) || documentEnd.test(text)) {
      this.#close(parts)
      // What stands behind the dashes is of the document already.
      if (text.startsWith('-') && !blank.test(text.slice(3))) this.#begin('document', whole)
    } else if (this.#open?.type !== 'document' && item.test(text)) {
      this.#close(parts)
      this.#begin('item', whole)
    } else if (this.#open) this.#append(text)
    else if (!blank.test(text) && !text.startsWith('%')) this.#begin('document', whole)
  }

  #begin(type: YamlPart['type'], { line, text }: TextLine): void {
    this.#open = { type, line, lines: [], size: 0 }
    this.#append(text)
  }

  #append(line: string): void {
    if (!this.#open) return
    this.#open.lines.push(line)
    this.#open.size += line.length + 1
    if (this.#open.size > largestRow) throw rowTooLarge(this.#name, this.#open.line)
  }

  #close(parts: YamlPart[]): void {
    if (!this.#open) return
    const { type, line, lines } = this.#open
    parts.push({ type, line, raw: `${lines.join('\n')}\n` })
    this.#open = undefined
  }
}
