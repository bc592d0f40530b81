import stringWidth from 'string-width'
import { type Formatting, paint, type StyledText, unmarked } from './text-style.ts'

/** Receives wrapped lines. */
export interface LineOutput {
  /** @param width in columns */
  write(text: string, width: number): void
  newLine(): void
}

interface Fragment {
  text: string
  run: StyledText
}

/**
 * Wraps words into lines. A word that is wider than a line is split between two characters. Space at
 * the end of a line is dropped.
 */
export class WordWrapper {
  #lines: LineOutput
  #width: () => number
  /** The width at the last call. */
  #lastWidth: number
  #formatting: Formatting
  #column = 0
  #spaces: Fragment[] = []
  /** Text of one style that is not written yet. */
  #text = ''
  #textWidth = 0
  #run: StyledText = { text: '', marks: unmarked }

  /** @param width in columns, which may change; a character that is wider takes a line by itself */
  constructor(width: () => number, lines: LineOutput, formatting: Formatting) {
    this.#width = width
    this.#lastWidth = width()
    this.#lines = lines
    this.#formatting = formatting
  }

  /** Counts columns that are already written on the first line. */
  skip(columns: number): void {
    this.#column = columns
  }

  /**
   * @param runs whole words; the last one may continue in the next call
   * @param isGlued whether the first word continues the last one of the previous call
   */
  add(runs: readonly StyledText[], isGlued = false): void {
    this.#followWidth()
    let word: Fragment[] = []
    let isFirst = isGlued
    const endWord = (): void => {
      if (word.length > 0) this.#addWord(word, isFirst)
      isFirst = false
      word = []
    }
    for (const run of runs) {
      const { text } = run
      for (let at = 0; at < text.length; ) {
        const end = endOfPart(text, at)
        const part = end - at === text.length ? text : text.slice(at, end)
        at = end
        const first = part.charAt(0)
        if (first === '\n') {
          endWord()
          this.#breakLine()
        } else if (first === ' ' || first === '\t') {
          endWord()
          this.#spaces.push({ text: part.replaceAll('\t', ' '), run })
        } else {
          for (const piece of narrow.test(part) ? [part] : splitWide(part)) {
            if (mayBreakBetween(word.at(-1)?.text.slice(-1) ?? '', piece.charAt(0))) endWord()
            word.push({ text: piece, run })
          }
        }
      }
    }
    endWord()
    this.#flush()
  }

  /** After a resize, the terminal may have wrapped the line, so a new one begins. */
  #followWidth(): void {
    const width = this.#width()
    if (width === this.#lastWidth) return
    this.#lastWidth = width
    if (this.#column > 0) this.#breakLine()
  }

  #addWord(word: readonly Fragment[], isGlued: boolean): void {
    const widths = word.map(({ text }) => displayWidth(text))
    const width = widths.reduce((sum, one) => sum + one, 0)
    const space = this.#spaces.reduce((sum, { text }) => sum + text.length, 0)
    if (this.#column > 0 && !isGlued && this.#column + space + width > this.#lastWidth) this.#breakLine()
    if (this.#column > 0) for (const { text, run } of this.#spaces) this.#put(text, text.length, run)
    this.#spaces = []
    for (const [index, { text, run }] of word.entries()) {
      const columns = widths[index] ?? 0
      if (this.#column + columns <= this.#lastWidth) this.#put(text, columns, run)
      else this.#putBroken(text, run)
    }
  }

  #putBroken(text: string, run: StyledText): void {
    for (const { segment } of characters.segment(text)) {
      const width = displayWidth(segment)
      if (this.#column > 0 && this.#column + width > this.#lastWidth) this.#breakLine()
      this.#put(segment, width, run)
    }
  }

  #put(text: string, width: number, run: StyledText): void {
    if (run.marks !== this.#run.marks || run.url !== this.#run.url) {
      this.#flush()
      this.#run = run
    }
    this.#text += text
    this.#textWidth += width
    this.#column += width
  }

  #breakLine(): void {
    this.#flush()
    this.#lines.newLine()
    this.#column = 0
    this.#spaces = []
  }

  #flush(): void {
    if (this.#text !== '') this.#lines.write(paint(this.#text, this.#run, this.#formatting), this.#textWidth)
    this.#text = ''
    this.#textWidth = 0
  }
}

const characters = new Intl.Segmenter()
/** Text that can only be wrapped at spaces. */
const narrow = /^[^\u3000-\uffff]*$/

/** The end of the newline, the spaces, or the word at an index. */
function endOfPart(text: string, from: number): number {
  if (text.charAt(from) === '\n') return from + 1
  const isInSpace = isSpace(text.charCodeAt(from))
  let at = from + 1
  while (at < text.length && isSpace(text.charCodeAt(at)) === isInSpace && text.charAt(at) !== '\n') at++
  return at
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x09
}

/** Splits a word at each position at which a line may end. */
function splitWide(text: string): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = 1; at < text.length; at++) {
    if (!mayBreakBetween(text.charAt(at - 1), text.charAt(at))) continue
    parts.push(text.slice(from, at))
    from = at
  }
  parts.push(text.slice(from))
  return parts
}

/**
 * Width of a text in columns. Fast for common texts: Latin, Greek, and Cyrillic letters, dashes, and
 * quotes take one column, Chinese and Japanese characters two.
 */
function displayWidth(text: string): number {
  if (singleWidth.test(text)) return text.length
  return doubleWidth.test(text) ? 2 * text.length : stringWidth(text)
}

const singleWidth =
  /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2500-\u257f]*$/
const doubleWidth = /^[\u3001-\u3029\u3041-\u3096\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff60]*$/

/** Characters of Chinese and Japanese, which have no spaces: a line may end between most of them. */
const wideCharacter = /[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60]/
/** Characters that may not begin a line, and below those that may not end one (UAX 14). */
const neverFirst =
  /[、。，．・：；？！゛゜ー々〻ゝゞヽヾ’”）〕］｝〉》」』】〗〙…ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ]/
const neverLast = /[（〔［｛〈《「『【〖〘]/

/** Whether a line may end between two characters without a space. */
export function mayBreakBetween(before: string, after: string): boolean {
  // Fast path for nearly all text.
  if (before < '\u3000' || after < '\u3000') return false
  return (
    wideCharacter.test(after) &&
    wideCharacter.test(before) &&
    !neverFirst.test(after) &&
    !neverLast.test(before)
  )
}
