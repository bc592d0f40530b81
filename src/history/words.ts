/** A word of a text, and its place in it. */
export interface Word {
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

export function* wordsOf(text: string): Generator<Word> {
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
