import { largestRow, rowTooLarge } from './largest-row.ts'

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
  #text = ''
  #line = 1
  #open: { type: YamlPart['type']; line: number; lines: string[]; size: number } | undefined

  /** @param name of the input, for errors */
  constructor(name: string) {
    this.#name = name
  }

  /**
   * @param isLast nothing comes after this
   * @throws Failure `refused` for a part that is too large
   */
  take(text: string, isLast: boolean): YamlPart[] {
    const all = this.#text + text
    const parts: YamlPart[] = []
    let at = 0
    while (at < all.length) {
      const newline = all.indexOf('\n', at)
      const end = newline === -1 ? all.length : newline
      if (end - at > largestRow) throw rowTooLarge(this.#name, this.#line)
      if (newline === -1 && !isLast) break
      this.#takeLine(all.slice(at, end), parts)
      this.#line++
      at = end + 1
    }
    this.#text = all.slice(at)
    if (isLast) this.#close(parts)
    return parts
  }

  #takeLine(line: string, parts: YamlPart[]): void {
    if (documentStart.test(line) || documentEnd.test(line)) {
      this.#close(parts)
      // What stands behind the dashes is of the document already.
      if (line.startsWith('-') && !blank.test(line.slice(3))) this.#begin('document', line)
    } else if (this.#open?.type !== 'document' && item.test(line)) {
      this.#close(parts)
      this.#begin('item', line)
    } else if (this.#open) this.#append(line)
    else if (!blank.test(line) && !line.startsWith('%')) this.#begin('document', line)
  }

  #begin(type: YamlPart['type'], line: string): void {
    this.#open = { type, line: this.#line, lines: [], size: 0 }
    this.#append(line)
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
