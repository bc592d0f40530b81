import { expect } from 'chai'
import { GrowingText } from '../../../src/client/stream/growing-text.ts'

function assemble(pieces: string[], repeatedAtEnd = false): string {
  const growing = new GrowingText()
  const out = pieces.map((piece, index) => growing.offer(piece, repeatedAtEnd && index === pieces.length - 1))
  out.push(growing.finish(false))
  expect(out.join('')).to.equal(growing.text)
  return growing.text
}

describe('assembling text from pieces', () => {
  const cases: [string, string[], string][] = [
    ['joins separate parts', ['Hel', 'lo ', 'world'], 'Hello world'],
    ['recognizes pieces that repeat the text so far', ['Hel', 'Hello ', 'Hello world'], 'Hello world'],
    [
      'recognizes a long second piece that repeats the first',
      ['Hello world', 'Hello world!'],
      'Hello world!',
    ],
    [
      'joins two parts of which the second only seems to repeat the first',
      ['ha', 'haha', ' said'],
      'hahaha said',
    ],
    ['joins equal parts', ['ha', 'ha'], 'haha'],
    ['joins equal parts before other parts', ['ha', 'ha', ' no'], 'haha no'],
    ['ignores empty pieces', ['', 'Hel', '', 'lo', ''], 'Hello'],
    [
      'ignores an unchanged piece if pieces repeat the text so far',
      ['Hello the', 'Hello there', 'Hello there', 'Hello there!'],
      'Hello there!',
    ],
    ['returns a single piece unchanged', ['whole'], 'whole'],
    ['returns nothing for no pieces', [], ''],
  ]
  for (const [what, pieces, text] of cases) {
    it(what, () => {
      expect(assemble(pieces)).to.equal(text)
    })
  }

  it('ignores a last piece that repeats the whole text', () => {
    expect(assemble(['Hel', 'lo', 'Hello'], true)).to.equal('Hello')
    expect(assemble(['Hello', 'Hello'], true)).to.equal('Hello')
    expect(assemble(['Hello', 'Hello!'], true)).to.equal('Hello!')
  })

  it('never treats pieces that are known to be parts as repetitions', () => {
    const growing = new GrowingText()
    for (const part of ['a very long part', 'a very long part and more']) growing.add(part)
    expect(growing.text).to.equal('a very long parta very long part and more')
  })

  it('ignores the whole text in another field after known parts', () => {
    const growing = new GrowingText()
    growing.add('Hel')
    growing.add('lo')
    expect(growing.offer('Hello', false)).to.equal('')
    expect(growing.offer('Hello!', false)).to.equal('!')
  })

  it('reports that a piece contradicts the text so far', () => {
    const growing = new GrowingText()
    for (const piece of ['Hello', 'Hello the', 'Hello there', 'Goodbye']) growing.offer(piece, false)
    expect(growing.contradicted).to.equal(true)
    expect(growing.text).to.equal('Hello there')
  })
})
