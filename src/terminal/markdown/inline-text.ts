import { OpenDelimiters } from './open-delimiters.ts'
import { mayBreakBetween } from './word-wrapper.ts'

/**
 * How long, in UTF-16 units, an open mark may hold text back. It bounds the work too: a piece may
 * cost the square of its length.
 */
const longestPiece = 1000

/** @param isGlued whether it goes on without a break where the last piece stopped */
export type OnPiece = (piece: string, isGlued: boolean) => void

/**
 * Cuts a paragraph that comes in parts into pieces that can be read alone, as early as that can be
 * known: mostly words, each with the space before it. Where it cuts depends on the text alone, never
 * on the parts.
 */
export class InlineText {
  #give: OnPiece
  #marks = new OpenDelimiters()
  /** Words that wait for a mark to be closed. */
  #piece = ''
  /** The word that is coming, after the space before it. */
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
      if (isFull) this.#cutWord()
      else if (from < text.length) {
        if (this.#hasLetters) this.#endWord()
        else this.#hasLetters = true
      }
    }
  }

  /** The line is over, and with it the word. */
  endLine(): void {
    if (!this.#hasLetters) {
      this.#word = ''
      return
    }
    // A backslash at the end belongs to the newline, if one comes.
    this.#endWord(endsInEscape(this.#word))
  }

  /** The paragraph goes on in the next line. */
  continueLine(): void {
    this.#word = '\n'
  }

  /** The paragraph is over. */
  finish(): void {
    this.endLine()
    this.#givePiece()
  }

  /** From where on it is another word. */
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

  /** A word without end goes on as another. */
  #cutWord(): void {
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

/** Moves a cut behind a surrogate pair that it would divide. */
function keepPair(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff ? at + 1 : at
}
