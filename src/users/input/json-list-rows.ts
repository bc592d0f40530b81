import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import type { InputRow, RowReader } from './input-row.ts'
import { jsonRow, type RowRules } from './object-row.ts'
import { maxRowLength, placeAfter, type RowPosition, rowTooLarge } from './row-place.ts'

/** The beginning of the list, or of an object with the list as `users`. */
const opening = /\[|\{\s*"users"\s*:\s*\[/y

/** In UTF-16 units. An opening with more white space is not recognized. */
const maxOpeningLength = 1024

/** What may follow. After a comma, a row is required. */
type Expected = 'opening' | 'row or end' | 'row' | 'comma or end' | 'brace' | 'nothing'

/** Reads a JSON list of objects, which may be the `users` of an object, without holding all of it. */
export class JsonListRows implements RowReader {
  readonly #name: string
  readonly #rules: RowRules
  #text = ''
  /** The offset of the text that is not read yet. */
  #at = 0
  /** The last known place, from which later places are counted. */
  #known: { offset: number; place: RowPosition } = { offset: 0, place: { line: 1, column: 1 } }
  #expected: Expected = 'opening'
  #isWrapped = false
  #index = 0

  constructor(name: string, rules: RowRules) {
    this.#name = name
    this.#rules = rules
  }

  take(text: string, isLast: boolean): InputRow[] {
    this.#text += text
    const rows: InputRow[] = []
    if (this.#expected === 'opening' && !this.#open(isLast)) return rows
    for (;;) {
      this.#at = skipSpace(this.#text, this.#at)
      if (this.#at === this.#text.length) break
      if (!this.#expected.startsWith('row') || this.#text.charAt(this.#at) === ']') this.#punctuation()
      else if (!this.#row(isLast, rows)) break
    }
    if (isLast && this.#expected !== 'nothing')
      throw this.#refuse('unexpected end of file: the list is not closed')
    this.#placeAt(this.#at)
    this.#text = this.#text.slice(this.#at)
    this.#known.offset = 0
    this.#at = 0
    return rows
  }

  /** @returns false if the opening is incomplete */
  #open(isLast: boolean): boolean {
    this.#at = skipSpace(this.#text, 0)
    opening.lastIndex = this.#at
    const [found] = opening.exec(this.#text) ?? []
    if (found && found.length <= maxOpeningLength) {
      this.#isWrapped = found.startsWith('{')
      this.#at += found.length
      this.#expected = 'row or end'
      return true
    }
    if (!isLast && this.#text.length - this.#at <= maxOpeningLength) return false
    if (this.#at === this.#text.length)
      throw new Failure('refused', `${this.#name} contains no ${this.#rules.kind}`)
    throw this.#refuse('expected a list of objects or {"users": [...]}', [{ code: 'json_lines' }])
  }

  #punctuation(): void {
    const character = this.#text.charAt(this.#at)
    const expected = this.#expected
    if (expected === 'comma or end' && character === ',') this.#expected = 'row'
    else if (expected.endsWith('or end') && character === ']') {
      this.#expected = this.#isWrapped ? 'brace' : 'nothing'
    } else if (expected === 'brace' && character === '}') this.#expected = 'nothing'
    else if (expected === 'nothing') throw this.#refuse('unexpected text after the list')
    else if (expected === 'brace') throw this.#refuse('unexpected key: the object may contain only "users"')
    else throw this.#refuse(`expected a ${expected} of the list`)
    this.#at++
  }

  /** @returns false if the row is incomplete */
  #row(isLast: boolean, rows: InputRow[]): boolean {
    const start = this.#placeAt(this.#at)
    const end = endOfValue(this.#text, this.#at)
    // A number at the end of the text may continue.
    const isOpen = end === -1 || (end === this.#text.length && !isLast)
    if ((isOpen ? this.#text.length : end) - this.#at > maxRowLength) {
      throw rowTooLarge(this.#name, start.line)
    }
    if (isOpen) return false
    if (end === this.#at) throw this.#refuse('expected a row of the list')
    const raw = this.#text.slice(this.#at, end)
    const row = jsonRow({ index: this.#index++, raw, start }, this.#rules)
    rows.push({ ...row, column: start.column })
    this.#at = end
    this.#expected = 'comma or end'
    return true
  }

  /** @param offset not before the offset of an earlier call */
  #placeAt(offset: number): RowPosition {
    const place = placeAfter(this.#known.place, this.#text.slice(this.#known.offset, offset))
    this.#known = { offset, place }
    return place
  }

  #refuse(words: string, advice: Advice[] = []): Failure {
    const { line, column } = this.#placeAt(this.#at)
    const message = `${this.#name}:${line}:${column}: ${words}`
    return new Failure('refused', message, { advice })
  }
}

/** Character codes. The code of a closing character is that of the opening one plus 2. */
const quote = 34
const bracket = 91
const brace = 123

const space = /[ \t\r\n]*/y
const scalar = /[^\s,:{}[\]"]*/y

/** The offset of the first character that is not white space (RFC 8259 section 2). */
function skipSpace(text: string, at: number): number {
  space.lastIndex = at
  space.test(text)
  return space.lastIndex
}

/** The end of the value that begins at `at`; -1 for an unclosed object, list, or string. */
function endOfValue(text: string, at: number): number {
  const first = text.charAt(at)
  if (first === '"') return endOfString(text, at)
  if (first !== '{' && first !== '[') {
    scalar.lastIndex = at
    scalar.test(text)
    return scalar.lastIndex
  }
  let depth = 0
  for (let next = at; next < text.length; next++) {
    const code = text.charCodeAt(next)
    if (code === quote) {
      next = endOfString(text, next) - 1
      if (next < 0) return -1
    } else if (code === brace || code === bracket) depth++
    else if ((code === brace + 2 || code === bracket + 2) && --depth === 0) return next + 1
  }
  return -1
}

/** The end of the string that begins at `at`; -1 if it is unclosed. */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charAt(end - 1 - slashes) === '\\') slashes++
    if (slashes % 2 === 0) return end + 1
  }
  return -1
}
