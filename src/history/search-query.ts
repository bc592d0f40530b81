import { Failure } from '../contract/failure.ts'

/** Words that must follow each other. */
interface Phrase {
  words: readonly string[]
  /** Whether the last word is only the beginning of one. */
  isPrefix: boolean
}

/** The range of a match in a text. */
export interface Match {
  start: number
  end: number
}

/**
 * What to search for. All words must occur. `"two words"` must follow each other, and so must the parts of a
 * word with punctuation, such as `node:sqlite`. `index*` finds the words that begin so.
 */
export class SearchQuery {
  readonly #phrases: readonly Phrase[]

  /** @throws Failure `usage` if it has no word */
  constructor(text: string) {
    const parts = text.matchAll(/["“”]([^"“”]*)(?:["“”]|$)|[^\s"“”]+/g)
    const phrases = Array.from(parts, ([part, quoted]) => readPhrase(quoted ?? part)).filter(
      ({ words }) => words.length > 0,
    )
    this.#phrases = phrases
    if (phrases.length === 0) {
      throw new Failure('usage', 'The search has no word', {
        hint: 'A search needs at least one letter, digit, or pictograph.',
      })
    }
  }

  /** The expression for FTS5. Folded words contain no character that it could interpret. */
  expression(): string {
    return this.#phrases
      .map(({ words, isPrefix }) => `"${words.join(' ')}"${isPrefix ? ' *' : ''}`)
      .join(' AND ')
  }

  /** Where the phrases occur in a text, in their order, at most this many. */
  find(text: string, limit = 1000): Match[] {
    const matches: Match[] = []
    const words = Array.from(wordsOf(text))
    for (let at = 0; at < words.length && matches.length < limit; at++) {
      for (const phrase of this.#phrases) {
        const last = occursAt(words, at, phrase) ? words[at + phrase.words.length - 1] : undefined
        const { start } = words[at] as Word
        if (last) matches.push({ start, end: last.end })
      }
    }
    return matches
  }
}

function readPhrase(part: string): Phrase {
  const words = Array.from(wordsOf(part))
  const isPrefix = part.endsWith('*') && words.at(-1)?.end === part.length - 1
  return { words: words.map(({ folded }) => folded), isPrefix }
}

function occursAt(words: readonly Word[], at: number, { words: wanted, isPrefix }: Phrase): boolean {
  return wanted.every((word, index) => {
    const folded = words[at + index]?.folded
    return isPrefix && index === wanted.length - 1 ? folded?.startsWith(word) === true : folded === word
  })
}

/** Characters of a snippet, and those of them before the first match. */
const length = 200
const lead = 60

/** The part of a text with the first match, on one line, between words. An ellipsis replaces the rest. */
export function snippetOf(text: string, query: SearchQuery): string {
  const [match = { start: 0, end: 0 }] = query.find(text, 1)
  const words = Array.from(wordsOf(text))
  const first = match.start <= lead ? 0 : words.find(({ start }) => start >= match.start - lead)?.start
  const from = first ?? match.start
  const last =
    text.length <= from + length ? text.length : words.findLast(({ end }) => end <= from + length)?.end
  const to = Math.max(last ?? 0, match.end)
  const shown = text.slice(from, to).replaceAll(/\s+/g, ' ').trim()
  return `${from > 0 ? '…' : ''}${shown}${to < text.length ? '…' : ''}`
}

/** A word of a text, and its place in it. */
interface Word {
  start: number
  end: number
  /** The form that is indexed: without case, diacritics, and variants of width. */
  folded: string
}

/**
 * A run of letters and digits, or one character of a script that writes no spaces between words, or a
 * pictograph. A search for several such characters finds them next to each other, so any part of a sentence
 * can be found (docs/decisions/0018-search-index.md).
 */
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Extended_Pictographic}]\p{M}*|[[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+/gv

const asciiWordPattern = /[a-z0-9]+/gi

const ascii = /^[\0-\x7f]*$/

function* wordsOf(text: string): Generator<Word> {
  const isAscii = ascii.test(text)
  for (const { 0: word, index: start } of text.matchAll(isAscii ? asciiWordPattern : wordPattern)) {
    const folded = isAscii ? word.toLowerCase() : fold(word)
    if (folded !== '') yield { start, end: start + word.length, folded }
  }
}

/**
 * The words of a text, for an index with the tokenizer `ascii`: SQLite separates them at the spaces, and
 * takes every character beyond ASCII as part of a word.
 */
export function indexedText(text: string): string {
  if (ascii.test(text)) return text
  let indexed = ''
  for (const { folded } of wordsOf(text)) indexed += `${folded} `
  return indexed
}

function fold(word: string): string {
  if (ascii.test(word)) return word.toLowerCase()
  return (
    withoutDiacritics(word)
      // Both, because ß has no other form in capitals than SS.
      .toUpperCase()
      .toLowerCase()
      .normalize('NFKD')
      .replaceAll(/[\u0300-\u036f]/g, '')
      .normalize('NFC')
      // A compatibility form may contain punctuation, such as the period of ⒈.
      .replaceAll(/[\0-\x2f:-@[-`{-\x7f]/g, '')
  )
}

/** Only the diacritics of alphabets: elsewhere, a combining mark may be a vowel. */
function withoutDiacritics(word: string): string {
  return word.normalize('NFKD').replaceAll(/[\u0300-\u036f]/g, '')
}
