import { expect } from 'chai'
import fc from 'fast-check'
import { TextBuffer } from '../../../src/terminal/editor/text-buffer.ts'
import { forAllTimes } from '../../support/for-all.ts'

/** A buffer with the text, and the cursor at the bar. */
function bufferOf(marked: string): TextBuffer {
  const buffer = new TextBuffer()
  const [before = '', after = ''] = marked.split('|')
  buffer.setText(before + after)
  const behind = new TextBuffer()
  behind.setText(before)
  buffer.moveTo(behind.units.length)
  return buffer
}

function marked(buffer: TextBuffer): string {
  const texts = buffer.units.map((unit) => (typeof unit === 'string' ? unit : unit.label))
  return `${texts.slice(0, buffer.cursor).join('')}|${texts.slice(buffer.cursor).join('')}`
}

type Action = (buffer: TextBuffer) => unknown

const cases: [string, string, Action, string][] = [
  [
    'inserts \\r\\n and \\r as line breaks, and no other control characters',
    '|',
    (one) => one.insert('a\r\nb\rc\u001b[0m\u0007'),
    'a\nb\nc[0m|',
  ],
  ['moves a word to the left', 'one, two  |', (one) => one.moveWordLeft(), 'one, |two  '],
  ['moves a word to the right', 'one|, two three', (one) => one.moveWordRight(), 'one, two| three'],
  ['moves to the start of the line', 'one\ntw|o\nthree', (one) => one.moveToLineStart(), 'one\n|two\nthree'],
  ['moves to the end of the line', 'one\n|two\nthree', (one) => one.moveToLineEnd(), 'one\ntwo|\nthree'],
  ['kills a word backward', 'one two-thr|ee', (one) => one.killWordBack(), 'one two-|ee'],
  ['kills a word forward', 'one| two, three', (one) => one.killWordForward(), 'one|, three'],
  ['kills backward to a space', 'one two-thr|ee', (one) => one.killBackToSpace(), 'one |ee'],
  ['kills to the start of the line', 'one\ntw|o', (one) => one.killToLineStart(), 'one\n|o'],
  ['kills the line break before a line', 'one\n|two', (one) => one.killToLineStart(), 'one|two'],
  ['kills to the end of the line', 'o|ne\ntwo', (one) => one.killToLineEnd(), 'o|\ntwo'],
  ['kills the line break', 'one|\ntwo', (one) => one.killToLineEnd(), 'one|two'],
  ['transposes two characters', 'a世|界b', (one) => one.transpose(), 'a界世|b'],
  ['transposes the last two characters at the end of a line', 'ab|\nc', (one) => one.transpose(), 'ba|\nc'],
]

describe('the text buffer', () => {
  for (const [what, before, act, after] of cases)
    it(what, () => {
      const buffer = bufferOf(before)
      act(buffer)
      expect(marked(buffer)).to.equal(after)
    })

  it('returns false if there is nothing to do', () => {
    const buffer = bufferOf('|')
    for (const act of [
      () => buffer.insert(''),
      () => buffer.insertPaste('\u0007'),
      () => buffer.deleteBack(),
      () => buffer.deleteForward(),
      () => buffer.killWordBack(),
      () => buffer.killWordForward(),
      () => buffer.killBackToSpace(),
      () => buffer.killToLineStart(),
      () => buffer.killToLineEnd(),
      () => buffer.yank(),
      () => buffer.transpose(),
      () => buffer.undo(),
      () => buffer.moveTo(-1),
      () => buffer.moveWordLeft(),
      () => buffer.moveWordRight(),
    ])
      expect(act(), act.toString()).to.equal(false)
    expect(bufferOf('ab\n|c').transpose()).to.equal(false)
  })

  it('restores killed text with yank, and several kills in a row as one', () => {
    const buffer = bufferOf('one two three|')
    buffer.killBackToSpace()
    buffer.killBackToSpace()
    expect(marked(buffer)).to.equal('one |')
    buffer.moveTo(0)
    buffer.yank()
    expect(marked(buffer)).to.equal('two three|one ')
    buffer.killToLineEnd()
    buffer.yank()
    buffer.yank()
    expect(marked(buffer)).to.equal('two threeone one |')
  })

  it('keeps the order of text that is killed forward', () => {
    const buffer = bufferOf('|one two')
    buffer.killWordForward()
    buffer.killWordForward()
    buffer.yank()
    expect(marked(buffer)).to.equal('one two|')
  })

  it('undoes typed text word by word, and every other edit separately', () => {
    const buffer = new TextBuffer()
    for (const letter of 'one two') buffer.insert(letter)
    buffer.deleteBack()
    buffer.undo()
    expect(marked(buffer)).to.equal('one two|')
    buffer.undo()
    expect(marked(buffer)).to.equal('one |')
    buffer.undo()
    expect(marked(buffer)).to.equal('|')
    expect(buffer.undo()).to.equal(false)
  })

  it('undoes text separately if it was typed in two places or after another edit', () => {
    const buffer = bufferOf('|cd')
    buffer.insert('b')
    buffer.moveTo(0)
    buffer.insert('a')
    buffer.undo()
    expect(marked(buffer)).to.equal('|bcd')
    buffer.deleteForward()
    buffer.insert('x')
    buffer.undo()
    expect(marked(buffer)).to.equal('|cd')
  })

  describe('with a long paste', () => {
    const lines = (count: number, end = ''): string => `${Array(count).fill('line').join('\n')}${end}`

    it('stores more than 10 lines as one unit', () => {
      const buffer = bufferOf('a|b')
      buffer.insertPaste(lines(42))
      expect(marked(buffer)).to.equal('a[pasted 42 lines]|b')
      expect(buffer.text).to.equal(`a${lines(42)}b`)
      buffer.moveTo(buffer.cursor - 1)
      expect(marked(buffer)).to.equal('a|[pasted 42 lines]b')
      buffer.deleteForward()
      expect(marked(buffer)).to.equal('a|b')
      buffer.undo()
      expect(buffer.text).to.equal(`a${lines(42)}b`)
    })

    it('does not count the line break at the end as a line', () => {
      const buffer = new TextBuffer()
      buffer.insertPaste(lines(11, '\n'))
      expect(marked(buffer)).to.equal('[pasted 11 lines]|')
      buffer.setText('')
      buffer.insertPaste(lines(10, '\n'))
      expect(buffer.text).to.equal(lines(10, '\n'))
      expect(buffer.units).to.have.length(50)
    })

    it('stores more than 10,000 characters as one unit', () => {
      const buffer = new TextBuffer()
      buffer.insertPaste('x'.repeat(10_001))
      expect(marked(buffer)).to.equal('[pasted 10001 characters]|')
    })

    it('treats the paste as one word that can be killed and restored', () => {
      const buffer = bufferOf('one |two')
      buffer.insertPaste(lines(12))
      buffer.moveWordLeft()
      expect(marked(buffer)).to.equal('one |[pasted 12 lines]two')
      buffer.moveWordRight()
      expect(marked(buffer)).to.equal('one [pasted 12 lines]|two')
      buffer.killBackToSpace()
      expect(marked(buffer)).to.equal('one |two')
      buffer.yank()
      expect(buffer.text).to.equal(`one ${lines(12)}two`)
    })

    it('excludes the paste from the line that is completed', () => {
      const buffer = bufferOf('one\n|')
      buffer.insertPaste(lines(12))
      buffer.insert(' /he')
      expect(buffer.lineBefore).to.equal(' /he')
      buffer.replaceBefore(1, '/help ')
      expect(marked(buffer)).to.equal('one\n[pasted 12 lines] /help |')
    })
  })

  it('behaves like a simple list of graphemes', () => {
    const segmenter = new Intl.Segmenter()
    const split = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment)
    /** The first boundary between graphemes at or after an index of the text. */
    const settle = (text: string, index: number): number => {
      let [place, length] = [0, 0]
      for (const grapheme of split(text)) {
        if (length >= index) break
        length += grapheme.length
        place++
      }
      return place
    }
    const piece = fc.constantFrom(
      ...['a', 'b ', 'e', '\u0301', '👩', '\u200d', '👧', '🇩', '🇪', '世', '한'],
      ...['ᄀ', 'ᅡ', '\n', 'क', '्', 'ष', '\u0600', '🏽'],
    )
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('insert' as const),
          text: fc.array(piece, { maxLength: 3 }).map((all) => all.join('')),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('back' as const, 'forward' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), to: fc.nat({ max: 12 }) }) },
    )
    forAllTimes(4, fc.array(step, { maxLength: 30 }), (steps) => {
      const buffer = new TextBuffer()
      let [model, cursor] = [split(''), 0]
      const history: { text: string; cursor: number }[] = []
      for (const one of steps) {
        const before = { text: buffer.text, cursor: buffer.cursor }
        let [from, to, added] = [cursor, cursor, '']
        if (one.do === 'insert') added = one.text
        if (one.do === 'back') from = Math.max(0, cursor - 1)
        if (one.do === 'forward') to = Math.min(model.length, cursor + 1)
        const head = model.slice(0, from).join('') + added
        const text = head + model.slice(to).join('')
        model = split(text)
        cursor = one.do === 'move' ? Math.min(one.to, model.length) : settle(text, head.length)
        if (one.do === 'insert') buffer.insertPaste(one.text)
        if (one.do === 'back') buffer.deleteBack()
        if (one.do === 'forward') buffer.deleteForward()
        if (one.do === 'move') buffer.moveTo(one.to)
        expect(buffer.units).to.deep.equal(model)
        expect(buffer.cursor).to.equal(cursor)
        if (buffer.text !== before.text) history.push(before)
      }
      while (history.length > 0) {
        const { text, cursor: place } = history.pop() ?? { text: '', cursor: 0 }
        expect(buffer.undo()).to.equal(true)
        expect(buffer).to.include({ text, cursor: place })
      }
    })
  })
})
