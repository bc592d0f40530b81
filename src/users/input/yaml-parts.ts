import { Failure } from '../../contract/failure.ts'
import { maxRowLength, rowTooLarge } from './row-place.ts'
import { type TextLine, TextLines } from './text/text-lines.ts'

/** One item of a list at the left margin, or a document that is not such a list. */
export interface YamlPart {
  type: 'item' | 'document'
  line: number
  raw: string
}

const blank = /^\s*(#.*)?$/
const documentStart = /^---(\s|$)/
const documentEnd = /^\.\.\.(\s|$)/
const item = /^-(\s|$)/
/** YAML 1.2.2 section 6.8.1. */
const version = /^%YAML\s+(\S+)/

/**
 * Splits YAML before it is parsed, so that only one row is parsed at a time. A line with `- ` at the left
 * margin begins an item, `---` a document (YAML 1.2.2 section 9.2).
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
   * @param isLast whether the text is the end of the input
   * @throws Failure `refused` for a part that is too large, and for another version of YAML
   */
  take(text: string, isLast: boolean): YamlPart[] {
    const parts: YamlPart[] = []
    for (const line of this.#lines.take(text, isLast)) this.#takeLine(line, parts)
    if (isLast) this.#close(parts)
    return parts
  }

  #takeLine(line: TextLine, parts: YamlPart[]): void {
    const { text } = line
    if (documentStart.test(text) || documentEnd.test(text)) {
      this.#close(parts)
      // Text after the dashes belongs to the document.
      if (text.startsWith('-') && !blank.test(text.slice(3))) this.#begin('document', line)
    } else if (this.#open?.type !== 'document' && item.test(text)) {
      this.#close(parts)
      this.#begin('item', line)
    } else if (this.#open) this.#append(text)
    else if (text.startsWith('%')) this.#checkDirective(line)
    else if (!blank.test(text)) this.#begin('document', line)
  }

  /** The version matters, because rows are parsed without directives: in YAML 1.1, `yes` is true, and 010 is 8. */
  #checkDirective({ line, text }: TextLine): void {
    const declared = version.exec(text)?.[1] ?? '1.2'
    if (declared === '1.2') return
    throw new Failure(
      'refused',
      `${this.#name}:${line}:1: the file is YAML ${declared}; only YAML 1.2 is supported`,
      {
        hint: 'Convert it to YAML 1.2, then remove the %YAML line.',
      },
    )
  }

  #begin(type: YamlPart['type'], { line, text }: TextLine): void {
    this.#open = { type, line, lines: [], size: 0 }
    this.#append(text)
  }

  #append(line: string): void {
    if (!this.#open) return
    this.#open.lines.push(line)
    this.#open.size += line.length + 1
    if (this.#open.size > maxRowLength) throw rowTooLarge(this.#name, this.#open.line)
  }

  #close(parts: YamlPart[]): void {
    if (!this.#open) return
    const { type, line, lines } = this.#open
    parts.push({ type, line, raw: `${lines.join('\n')}\n` })
    this.#open = undefined
  }
}
