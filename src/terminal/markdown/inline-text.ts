import { OpenDelimiters } from './open-delimiters.ts'
import { mayBreakBetween } from './word-wrapper.ts'

/**
 * Maximum number of UTF-16 units that an open delimiter holds back. It also bounds the work, because a
 * piece may take time that grows with the square of its length.
 */
const longestPiece = 1000

/** @param isGlued whether no line break may precede the piece */
export type OnPiece = (piece: string, isGlued: boolean) => void

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
