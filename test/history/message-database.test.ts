import { expect } from 'chai'
import fc from 'fast-check'
import { MessageDatabase } from '../../src/history/message-database.ts'
import { SearchQuery, snippetOf } from '../../src/history/search-query.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { openWith, textsFound } from './temporary-mirrors.ts'

/** What people write, and the words that are found in it. */
const writings: [text: string, words: string[]][] = [
  ['log', ['log']],
  ['LOG', ['log']],
  ['lóg', ['log']],
  ['lo\u0301g', ['log']],
  ['Logs', ['logs']],
  ['straße', ['strasse']],
  ['STRASSE', ['strasse']],
  ['ΣΟΦΌΣ', ['σοφος']],
  ['σοφός', ['σοφος']],
  ['İI', ['ii']],
  ['node:sqlite', ['node', 'sqlite']],
  ['max_tokens', ['max', 'tokens']],
  ['数据库', ['数', '据', '库']],
  ['数据', ['数', '据']],
  ['データ', ['デ', 'ー', 'タ']],
  ['ไทย', ['ไ', 'ท', 'ย']],
  ['データ', ['デ', 'ー', 'タ']],
  ['데이터', ['데이터']],
  ['कि', ['कि']],
  ['की', ['की']],
  ['نص', ['نص']],
  ['🎉', ['🎉']],
  ['１２', ['12']],
  ['𠜎𠜱', ['𠜎', '𠜱']],
  ['⒈', ['1']],
  ['⅛', ['1⁄8']],
  ['ﷺ', ['ﷺ'.normalize('NFKD').replaceAll(' ', '')]],
  ['--', []],
  ["');", []],
]

const text = fc.array(fc.constantFrom(...writings), { maxLength: 8 })
const separator = fc.constantFrom(' ', '\n', ', ', ' "', ') ')

/** The beginnings of words. */
const beginnings: typeof writings = [
  ['lo', ['lo']],
  ['LÓ', ['lo']],
  ['s', ['s']],
  ['σ', ['σ']],
  ['node:s', ['node', 's']],
  ['데이', ['데이']],
  ['1', ['1']],
]

/** Phrases, each of which is quoted, one writing, or the beginning of a word. */
const phrases = fc.array(
  fc.oneof(
    fc.constantFrom(...writings).map((one) => ({ writings: [one], before: '', after: '', isPrefix: false })),
    fc
      .constantFrom(...beginnings, ...writings.filter(([, words]) => words.length > 0))
      .map((one) => ({ writings: [one], before: '', after: '*', isPrefix: true })),
    fc
      .array(fc.constantFrom(...writings), { minLength: 1, maxLength: 3 })
      .map((some) => ({ writings: some, before: '"', after: '"', isPrefix: false })),
  ),
  { minLength: 1, maxLength: 3 },
)

const wordsOf = (some: readonly (typeof writings)[number][]) => some.flatMap(([, words]) => words)

function contains(words: readonly string[], wanted: readonly string[], isPrefix: boolean): boolean {
  const matches = (word: string, index: number, found = '') =>
    isPrefix && index === wanted.length - 1 ? found.startsWith(word) : found === word
  return words.some((_, at) => wanted.every((word, index) => matches(word, index, words[at + index])))
}

describe('the index of messages', () => {
  it('finds what a scan finds, the newest first', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), separator, phrases, (texts, between, wanted) => {
        const all = wanted.filter(({ writings: some }) => wordsOf(some).length > 0)
        fc.pre(all.length > 0)
        const written = texts.map((some) => some.map(([one]) => one).join(between))
        const query = wanted
          .map(({ writings: some, before, after }) => before + some.map(([one]) => one).join(' ') + after)
          .join(' ')
        const store = openWith(written)
        const expected = texts
          .flatMap((some, index) =>
            all.every(({ writings: each, isPrefix }) => contains(wordsOf(some), wordsOf(each), isPrefix))
              ? [written[index]]
              : [],
          )
          .reverse()
        expect(textsFound(store, query)).to.deep.equal(expected)
        store.close()
      }),
    )
  })

  it('finds the words that begin with WORD*, however many there are', () => {
    for (const count of [19, 20, 21, 200]) {
      const words = Array.from({ length: count }, (_, index) => `word${index} more`)
      const store = openWith(words)
      expect(textsFound(store, 'word*')).to.deep.equal(words.toReversed())
      expect(textsFound(store, `${'word* '.repeat(199)} mor*`)).to.have.lengthOf(count)
      store.close()
    }
  })

  it('takes any text as words, and never as syntax', () => {
    const texts = [
      ...['a OR b', 'NEAR(a b)', 'text : a', 'a NOT b', '"a', 'a^2', '{a', '*', '"" *', 'a\0b', "a'; --"],
      ...fc.sample(fc.oneof(fc.string(), fc.string({ unit: 'grapheme' })), 200),
    ]
    const store = openWith(texts)
    let searched = 0
    for (const one of texts) {
      try {
        const found = textsFound(store, one)
        expect(found, one).to.include(one)
        for (const each of found) expect(snippetOf(each, new SearchQuery(one)).isWellFormed()).to.equal(true)
        searched++
      } catch (error) {
        expect(error, one).to.have.property('kind', 'usage')
      }
    }
    expect(searched).to.be.above(100)
    store.close()
  })

  it('finds words that follow each other, also if the quotation mark is never closed', () => {
    const store = openWith(['b a', 'a b', 'a c b'])
    for (const query of ['"a b"', '"a b', '“a b”', 'a:b'])
      expect(textsFound(store, query)).to.deep.equal(['a b'])
    store.close()
  })

  it('refuses a search without a word', () => {
    expect(thrownFailure(() => new SearchQuery('++ "" *')).message).to.equal('The search has no word')
  })

  it('sorts by time whatever the order in which messages are added, and keeps those of one time', () => {
    const store = new MessageDatabase('', '')
    const times = [5, 3, 3, 9, 3, -1e15, 1e300, 5]
    for (const [index, time] of times.entries()) {
      store.add({ at: null, role: null, contextId: null, messageId: null, text: `word ${index}` }, time)
    }
    expect(textsFound(store, 'word')).to.deep.equal(
      ['6', '3', '7', '0', '4', '2', '1', '5'].map((index) => `word ${index}`),
    )
    store.close()
  })

  it('selects by role, context, and time', () => {
    const store = new MessageDatabase('', '')
    const message = { at: null, messageId: null, text: 'word' }
    const first = store.add({ ...message, role: 'user', contextId: 'c1' }, 1000)
    const second = store.add({ ...message, role: 'assistant', contextId: 'c1' }, 2000)
    const third = store.add({ ...message, role: 'user', contextId: null }, 3000)
    const find = (filters: { role?: string; contextId?: string; since?: number }) => {
      const all = { role: undefined, contextId: undefined, since: undefined, ...filters }
      return Array.from(store.search(new SearchQuery('word'), all, 10), ({ id }) => id)
    }
    expect(find({ role: 'user' })).to.deep.equal([third, first])
    expect(find({ contextId: 'c1' })).to.deep.equal([second, first])
    expect(find({ role: 'user', contextId: 'c1' })).to.deep.equal([first])
    expect(find({ since: 2000 })).to.deep.equal([third, second])
    expect(find({ role: '" OR text : word' })).to.deep.equal([])
    store.close()
  })
})

describe('a snippet', () => {
  it('contains a match and at most 250 characters of other text, on one line', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('word')), { maxLength: 80 }),
        (parts) => {
          const whole = `${parts.join(' ')} word ${parts.join('')}`
          const snippet = snippetOf(whole, new SearchQuery('word'))
          expect(new SearchQuery('word').find(snippet)).to.not.deep.equal([])
          expect(snippet.length).to.be.below(260)
          expect(snippet).to.not.match(/[\n\r]/)
          expect(snippet.isWellFormed()).to.equal(true)
        },
      ),
    )
  })

  it('shows the first match', () => {
    const filler = 'filler '.repeat(100)
    const snippet = snippetOf(`${filler} alpha ${filler} beta`, new SearchQuery('alpha beta'))
    expect(snippet).to.match(/^….*alpha.*…$/)
  })
})
