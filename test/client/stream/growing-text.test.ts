import { expect } from 'chai'
import { GrowingText } from '../../../src/client/stream/growing-text.ts'

function assemble(pieces: string[], repeatedAtEnd = false): string {
  const growing = new GrowingText()
  const out = pieces.map((piece, index) => growing.offer(piece, repeatedAtEnd && index === pieces.length - 1))
  out.push(growing.finish(false))
  expect(out.join('')).to.equal(growing.text)
  return growing.text
}

describe('GrowingText', () => {
  const cases: [string, string[], string][] = [
    ['joins parts', ['Hel', 'lo ', 'world'], 'Hello world'],
    ['sees a text that grows', ['Hel', 'Hello ', 'Hello world'], 'Hello world'],
    ['sees a long text that grows at once', ['Hello world', 'Hello world!'], 'Hello world!'],
    ['is not fooled by two parts that look like growth', ['ha', 'haha', ' said'], 'hahaha said'],
    ['joins equal parts', ['ha', 'ha'], 'haha'],
    ['joins equal parts that others follow', ['ha', 'ha', ' no'], 'haha no'],
    ['ignores empty pieces', ['', 'Hel', '', 'lo', ''], 'Hello'],
    [
      'takes a repetition in a text that grows for none',
      ['Hello the', 'Hello there', 'Hello there', 'Hello there!'],
      'Hello there!',
    ],
    ['gives one piece as it is', ['whole'], 'whole'],
    ['gives nothing for nothing', [], ''],
  ]
  for (const [what, pieces, text] of cases) {
    it(what, () => {
      expect(assemble(pieces)).to.equal(text)
    })
  }

  it('takes a last piece that repeats all for a repetition', () => {
    expect(assemble(['Hel', 'lo', 'Hello'], true)).to.equal('Hello')
    expect(assemble(['Hello', 'Hello'], true)).to.equal('Hello')
    expect(assemble(['Hello', 'Hello!'], true)).to.equal('Hello!')
  })

  it('never takes certain parts for a growing text', () => {
    const growing = new GrowingText()
    for (const part of ['a very long part', 'a very long part and more']) growing.add(part)
    expect(growing.text).to.equal('a very long parta very long part and more')
  })

  it('takes the whole in another field after certain parts for a repetition', () => {
    const growing = new GrowingText()
    growing.add('Hel')
    growing.add('lo')
    expect(growing.offer('Hello', false)).to.equal('')
    expect(growing.offer('Hello!', false)).to.equal('!')
  })

  it('knows when a growing text took something back', () => {
    const growing = new GrowingText()
    for (const piece of ['Hello', 'Hello the', 'Hello there', 'Goodbye']) growing.offer(piece, false)
    expect(growing.contradicted).to.equal(true)
    expect(growing.text).to.equal('Hello there')
  })
})
