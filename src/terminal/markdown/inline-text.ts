import { mayBreakBetween } from './word-wrapper.ts'

/**
 * Maximum number of UTF-16 units that an open delimiter holds back. It also bounds the work, because a
 * piece may take time that grows with the square of its length.
 */
const longestPiece = 1000

/** @param isGlued whether no line break may precede the piece */
type OnPiece = (piece: string, isGlued: boolean) => void

/**
 * Splits a paragraph, while it arrives, into pieces that can be rendered separately: mostly words, each
 * with the space before it. The splits depend only on the text, not on how it arrives.
 */
export class InlineText {
  #give: OnPiece
  #marks = new OpenDelimiters()
  /** Words that wait for a closing delimiter. */
  #piece = ''
  /** The unfinished word, with the space before it. */
  #word = ''
  #hasLetters = false
  #isGlued = false

  constructor(give: OnPiece) {
    this.#give = give
  }

  /** @param text without newlines */
  feed(text: string): void {
    let from = 0
    while (from < text.length) {
      const room = Math.max(1, longestPiece - this.#word.length)
      const limit = Math.min(text.length, from + room)
      const end = this.#hasLetters ? this.#findEnd(text, from, limit) : skipSpace(text, from, limit)
      const isFull = end - from === room
      const to = isFull ? keepPair(text, end) : end
      this.#word += text.slice(from, to)
      from = to
      if (isFull) this.#splitWord()
      else if (from < text.length) {
        if (this.#hasLetters) this.#endWord()
        else this.#hasLetters = true
      }
    }
  }

  /** Ends the line, and with it the word. */
  endLine(): void {
    if (!this.#hasLetters) {
      this.#word = ''
      return
    }
    // A backslash at the end may be a hard line break, if the paragraph continues.
    this.#endWord(endsInEscape(this.#word))
  }

  /** Continues the paragraph on the next line. */
  continueLine(): void {
    this.#word = '\n'
  }

  /** Ends the paragraph. */
  finish(): void {
    this.endLine()
    this.#givePiece()
  }

  /** The index at which the next word begins. */
  #findEnd(text: string, from: number, limit: number): number {
    for (let at = from; at < limit; at++) {
      const unit = text.charCodeAt(at)
      if (unit === space || unit === tab) return at
      if (unit < firstWide) continue
      const before = at > from ? text.charAt(at - 1) : this.#word.slice(-1)
      if (mayBreakBetween(before, text.charAt(at))) return at
    }
    return limit
  }

  #endWord(isBound = false): void {
    this.#marks.read(this.#word)
    this.#piece += this.#word
    this.#word = ''
    this.#hasLetters = false
    const waits = isBound || this.#marks.areOpen
    if (!waits || this.#piece.length >= longestPiece) this.#givePiece()
  }

  /** Splits a very long word. The next piece is glued to it. */
  #splitWord(): void {
    const isWord = this.#hasLetters
    this.#endWord()
    this.#givePiece()
    this.#isGlued = isWord
    this.#hasLetters = isWord
  }

  #givePiece(): void {
    this.#marks.forget()
    if (this.#piece !== '') this.#give(this.#piece, this.#isGlued)
    this.#piece = ''
    this.#isGlued = false
  }
}

const space = 0x20
const tab = 0x09
const firstWide = 0x3000

function endsInEscape(word: string): boolean {
  let at = word.length
  while (word.charAt(at - 1) === '\\') at--
  return (word.length - at) % 2 === 1
}

function skipSpace(text: string, from: number, limit: number): number {
  let at = from
  while (at < limit && (text.charCodeAt(at) === space || text.charCodeAt(at) === tab)) at++
  return at
}

/** Moves a split to after a surrogate pair that it would divide. */
function keepPair(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff ? at + 1 : at
}

/**
 * Tracks the open constructs of inline text: emphasis, code, links, and tags. Text can be split and
 * rendered in parts only where none is open. Follows the rules of CommonMark 6.2 for delimiter runs,
 * except the rule of three: a wrong guess shows a delimiter as text and does no other harm.
 */
class OpenDelimiters {
  /** Length of the backtick run that ends the code; 0 outside code. */
  #code = 0
  #isInTag = false
  /** Depth of parentheses in the address of a link; 0 outside a link. */
  #target = 0
  /** For each open bracket, the number of delimiters that were open before it. */
  #brackets: number[] = []
  #delimiters: { mark: string; length: number }[] = []

  get areOpen(): boolean {
    const inText = this.#brackets.length + this.#delimiters.length
    return this.#code + this.#target + inText > 0 || this.#isInTag
  }

  forget(): void {
    this.#code = 0
    this.#isInTag = false
    this.#target = 0
    this.#brackets = []
    this.#delimiters = []
  }

  /** @param word the next word, with the white space around it */
  read(word: string): void {
    if (!this.areOpen && !/[`*_~[<]/.test(word)) return
    for (let at = 0; at < word.length; ) at = this.#step(word, at)
  }

  #step(word: string, at: number): number {
    const unit = word.charAt(at)
    if (this.#code > 0) {
      const from = word.indexOf('`', at)
      if (from < 0) return word.length
      const length = runLength(word, from)
      if (length === this.#code) this.#code = 0
      return from + length
    }
    if (this.#isInTag) {
      const end = word.indexOf('>', at)
      if (end >= 0) this.#isInTag = false
      return end < 0 ? word.length : end + 1
    }
    if (unit === '\\') return at + 2
    if (this.#target > 0) {
      if (unit === '(') this.#target++
      if (unit === ')') this.#target--
      return at + 1
    }
    switch (unit) {
      case '`':
        this.#code = runLength(word, at)
        return at + this.#code
      case '<':
        this.#isInTag = /[a-z/!?]/i.test(word.charAt(at + 1))
        return at + 1
      case '[':
        this.#brackets.push(this.#delimiters.length)
        return at + 1
      case ']':
        return this.#closeBracket(word, at)
      case '*':
      case '_':
      case '~': {
        const length = runLength(word, at)
        this.#readDelimiters(unit, length, word.charAt(at - 1), word.charAt(at + length))
        return at + length
      }
      default:
        return at + 1
    }
  }

  #closeBracket(word: string, at: number): number {
    const before = this.#brackets.pop()
    if (before === undefined || word.charAt(at + 1) !== '(') return at + 1
    this.#delimiters.length = Math.min(before, this.#delimiters.length)
    this.#target = 1
    return at + 2
  }

  #readDelimiters(mark: string, length: number, before: string, after: string): void {
    if (mark === '~' && length !== 2) return
    const left = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
    const right = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
    const canOpen = mark === '_' ? left && (!right || isPunctuation(before)) : left
    const canClose = mark === '_' ? right && (!left || isPunctuation(after)) : right
    let rest = length
    while (canClose && rest > 0) {
      const index = this.#delimiters.findLastIndex((open) => open.mark === mark)
      const opener = this.#delimiters[index]
      if (opener === undefined) break
      const used = Math.min(rest, opener.length)
      opener.length -= used
      rest -= used
      this.#delimiters.length = opener.length > 0 ? index + 1 : index
    }
    if (canOpen && rest > 0) this.#delimiters.push({ mark, length: rest })
  }
}

function runLength(word: string, from: number): number {
  let end = from + 1
  while (word.charAt(end) === word.charAt(from)) end++
  return end - from
}

/** The beginning and the end of a word count as white space. */
function isSpace(unit: string): boolean {
  return unit === '' || /\s/.test(unit)
}

function isPunctuation(unit: string): boolean {
  return /[\p{P}\p{S}]/u.test(unit)
}
