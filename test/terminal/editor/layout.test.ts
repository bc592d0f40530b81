import { expect } from 'chai'
import fc from 'fast-check'
import { Layout, renderRows } from '../../../src/terminal/editor/layout.ts'
import { TextBuffer } from '../../../src/terminal/editor/text-buffer.ts'
import { forAll } from '../../support/for-all.ts'

const plain = { dim: (text: string) => text }

function show(text: string, columns: number, rows = 20, top = 0, cursor?: number) {
  const buffer = new TextBuffer()
  buffer.setText(text)
  if (cursor !== undefined) buffer.moveTo(cursor)
  return renderRows(buffer.state, { columns, rows, top }, plain)
}

describe('the layout of the editor', () => {
  it('shows the prompt, and the cursor after the text', () => {
    expect(show('', 80)).to.deep.equal({ lines: ['> '], cursor: { row: 0, column: 2 }, top: 0 })
    expect(show('hello', 80)).to.deep.equal({ lines: ['> hello'], cursor: { row: 0, column: 7 }, top: 0 })
  })

  it('indents continued lines by the width of the prompt', () => {
    const { lines, cursor } = show('abcdefghi\nx', 10)
    expect(lines).to.deep.equal(['> abcdefg', '  hi', '  x'])
    expect(cursor).to.deep.equal({ row: 2, column: 3 })
  })

  it('reserves the last column for the cursor', () => {
    expect(show('abcdefg', 10).cursor).to.deep.equal({ row: 0, column: 9 })
    expect(show('abcdefgh', 10, 20, 0, 7)).to.deep.include({ cursor: { row: 1, column: 2 } })
  })

  it('never splits a wide character', () => {
    expect(show('abcdef世界', 10).lines).to.deep.equal(['> abcdef', '  世界'])
    expect(show('世世世👩‍👩‍👧x', 10).lines).to.deep.equal(['> 世世世', '  👩‍👩‍👧x'])
  })

  it('shows a tab as 4 columns', () =>
    expect(show('a\tb', 20)).to.deep.include({ lines: ['> a    b'], cursor: { row: 0, column: 8 } }))

  it('removes control characters and bidirectional marks', () =>
    expect(show('a\u202eb\u2066c\u2028d', 40).lines).to.deep.equal(['> abc d']))

  it('shows a mark for a character that is wider than the terminal', () =>
    expect(show('世\t', 2).lines).to.deep.equal(['?', ' ']))

  it('scrolls a long text, and marks the hidden rows', () => {
    const text = 'one\ntwo\nthree\nfour\nfive'
    expect(show(text, 20, 3)).to.deep.equal({
      lines: ['… three', '  four', '  five'],
      cursor: { row: 2, column: 6 },
      top: 2,
    })
    expect(show(text, 20, 3, 2, 0)).to.deep.equal({
      lines: ['> one', '  two', '… three'],
      cursor: { row: 0, column: 2 },
      top: 0,
    })
    expect(show(text, 20, 3, 1, 9)).to.deep.equal({
      lines: ['… two', '  three', '… four'],
      cursor: { row: 1, column: 3 },
      top: 1,
    })
    expect(show(text, 20, 1, 0, 9).lines).to.deep.equal(['… three'])
  })

  it('wraps the label of a paste, which is one position for the cursor', () => {
    const buffer = new TextBuffer()
    buffer.insert('ab')
    buffer.insertPaste('x\n'.repeat(42))
    buffer.insert('cd')
    const dim = (text: string) => `<${text}>`
    const { lines } = renderRows(buffer.state, { columns: 10, rows: 9, top: 0 }, { dim })
    expect(lines).to.deep.equal(['> ab<[past>', '  <ed 42 l>', '  <ines]>cd'])
    const layout = new Layout(buffer.units, 7)
    expect(layout.placeOf(2)).to.deep.equal({ row: 0, column: 2 })
    expect(layout.placeOf(3)).to.deep.equal({ row: 2, column: 5 })
    expect(layout.indexAt(1, 3)).to.equal(3)
    expect(layout.indexAt(2, 6)).to.equal(4)
  })

  it('shows every character once if there is room, and finds each position again', () =>
    forAll(
      fc.string({ unit: fc.constantFrom('a', 'b', '世', '👩‍👩‍👧', '\n'), maxLength: 60 }),
      fc.integer({ min: 6, max: 20 }),
      (text, columns) => {
        const buffer = new TextBuffer()
        buffer.setText(text)
        const { lines } = renderRows(buffer.state, { columns, rows: 1_000, top: 0 }, plain)
        expect(lines.map((line) => line.slice(2)).join('')).to.equal(text.replaceAll('\n', ''))
        const layout = new Layout(buffer.units, columns - 3)
        for (let index = 0; index <= buffer.units.length; index++) {
          const { row, column } = layout.placeOf(index)
          expect(layout.indexAt(row, column)).to.equal(index)
        }
      },
    ))
})
