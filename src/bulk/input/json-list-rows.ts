import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import {
  type InputRow,
  largestRow,
  type Place,
  placeAfter,
  type RowReader,
  rowTooLarge,
} from './input-row.ts'
import { type Judgement, jsonRow } from './object-row.ts'

/** What the list begins with: itself, or the object that it is the `users` of. */
const opening = /\[|\{\s*"users"\s*:\s*\[/y

/** UTF-16 units: an opening with more white space is none. */
const longestOpening = 1024

/** What may come next; after the first row, a list cannot end where a row must come. */
type Awaited = 'opening' | 'row or end' | 'row' | 'comma or end' | 'brace' | 'nothing'

/** Reads one JSON list of objects, which may be the `users` of an object, row by row as it comes. */
export class JsonListRows implements RowReader {
  readonly #name: string
  readonly #judgement: Judgement
  #text = ''
  /** Up to here the text is done with. */
  #at = 0
  /** The place of an offset of the text, from which later ones are counted. */
  #known: { offset: number; place: Place } = { offset: 0, place: { line: 1, column: 1 } }
  #awaited: Awaited = 'opening'
  #isWrapped = false
  #index = 0

  constructor(name: string, judgement: Judgement) {
    this.#name = name
    this.#judgement = judgement
  }

  take(text: string, isLast: boolean): InputRow[] {
    this.#text += text
    const rows: InputRow[] = []
    if (this.#awaited === 'opening' && !this.#open(isLast)) return rows
    for (;;) {
      this.#at = skipSpace(this.#text, this.#at)
      if (this.#at === this.#text.length) break
      if (!this.#awaited.startsWith('row') || this.#text.charAt(this.#at) === ']') this.#punctuation()
      else if (!this.#row(isLast, rows)) break
    }
    if (isLast && this.#awaited !== 'nothing')
      throw this.#refuse('unexpected end of file: the list is not closed')
    this.#placeAt(this.#at)
    this.#text = this.#text.slice(this.#at)
    this.#known.offset = 0
    this.#at = 0
    return rows
  }

  /** @returns whether all of it has come */
  #open(isLast: boolean): boolean {
    this.#at = skipSpace(this.#text, 0)
    opening.lastIndex = this.#at
    const [found] = opening.exec(this.#text) ?? []
    if (found && found.length <= longestOpening) {
      this.#isWrapped = found.startsWith('{')
      this.#at += found.length
      this.#awaited = 'row or end'
      return true
    }
    if (!isLast && this.#text.length - this.#at <= longestOpening) return false
    if (this.#at === this.#text.length)
      throw new Failure('refused', `${this.#name} contains no ${this.#judgement.kind}`)
    throw this.#refuse('expected a list of objects or {"users": [...]}', [{ code: 'json_lines' }])
  }

  #punctuation(): void {
    const character = this.#text.charAt(this.#at)
    const awaited = this.#awaited
    if (awaited === 'comma or end' && character === ',') this.#awaited = 'row'
    else if (awaited.endsWith('or end') && character === ']') {
      this.#awaited = this.#isWrapped ? 'brace' : 'nothing'
    } else if (awaited === 'brace' && character === '}') this.#awaited = 'nothing'
    else if (awaited === 'nothing') throw this.#refuse('unexpected text after the list')
    else if (awaited === 'brace') throw this.#refuse('unexpected key: the object may contain only "users"')
    else throw this.#refuse(`expected a ${awaited} of the list`)
    this.#at++
  }

  /** @returns false where the row has not come as a whole */
  #row(isLast: boolean, rows: InputRow[]): boolean {
    const start = this.#placeAt(this.#at)
    const end = endOfValue(this.#text, this.#at)
    // A number may go on; and what is none of JSON's may be empty.
    const isOpen = end === -1 || (end === this.#text.length && !isLast)
    if ((isOpen ? this.#text.length : end) - this.#at > largestRow) {
      throw rowTooLarge(this.#name, start.line)
    }
    if (isOpen) return false
    if (end === this.#at) throw this.#refuse('expected a row of the list')
    const raw = this.#text.slice(this.#at, end)
    const row = jsonRow({ index: this.#index++, raw, start }, this.#judgement)
    rows.push({ ...row, column: start.column })
    this.#at = end
    this.#awaited = 'comma or end'
    return true
  }

  /** Of an offset that is not before an earlier one. */
  #placeAt(offset: number): Place {
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

/** Character codes. A closing character is two above its opening one. */
const quote = 34
const bracket = 91
const brace = 123

const space = /[ \t\r\n]*/y
const scalar = /[^\s,:{}[\]"]*/y

/** The offset of the first character that is no white space of JSON (RFC 8259 section 2). */
function skipSpace(text: string, at: number): number {
  space.lastIndex = at
  space.test(text)
  return space.lastIndex
}

/** The end of the value that begins at `at`; -1 for an object, a list, or a string that does not end. */
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

/** The end of the string that begins at `at`; -1 for one that does not end. */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charAt(end - 1 - slashes) === '\\') slashes++
    if (slashes % 2 === 0) return end + 1
  }
  return -1
}
