import strings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import { expect } from 'chai'
import { SearchQuery, snippetOf } from '../../../src/history/search-query.ts'
import { openWith, textsFound } from '../../history/temporary-mirrors.ts'

/** The Big List of Naughty Strings by Max Woolf. */
describe('the naughty strings', () => {
  it('are searched as words, never as syntax, and each that is a single word is found', () => {
    const store = openWith(strings)
    let searched = 0
    for (const one of strings) {
      try {
        const found = textsFound(store, one)
        if (/^[\p{L}\p{N}]+$/u.test(one)) expect(found, one).to.include(one)
        for (const each of found) expect(snippetOf(each, new SearchQuery(one)).isWellFormed()).to.equal(true)
        searched++
      } catch (error) {
        expect(error, one).to.have.property('kind', 'usage')
      }
    }
    expect(searched).to.be.above(400)
    store.close()
  })
})
