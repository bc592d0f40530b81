import { expect } from 'chai'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { PlainReasoningWriter, ReasoningWriter } from '../../../src/chat/reply/reply-display.ts'
import { PlainWriter, type ReplyWriter } from '../../../src/terminal/markdown/plain-writer.ts'
import { plainStyle } from '../../../src/terminal/markdown/text-style.ts'

const write = (writer: ReplyWriter, pieces: readonly string[]) =>
  pieces.map((piece) => writer.push(piece)).join('') + writer.end()

const unit = fc.constantFrom(...'ab \n\t漢。é👍', 'word', '\u001b[2J', '\u202e')

describe('the reasoning on the screen', () => {
  it('is the same however it arrives, fits the columns, and loses no character but controls', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit, maxLength: 30 }), { maxLength: 12 }),
        fc.integer({ min: 10, max: 60 }),
        (pieces, columns) => {
          const shown = write(new ReasoningWriter({ columns }, plainStyle), pieces)
          const whole = pieces.join('')
          expect(shown).to.equal(write(new ReasoningWriter({ columns }, plainStyle), [whole]))
          const lines = shown.split('\n')
          for (const line of lines) expect(stringWidth(line)).to.be.at.most(columns)
          for (const line of lines.filter((one) => one !== '')) expect(line).to.match(/^│/)
          const letters = (text: string) => text.replaceAll(/│|\s/g, '')
          expect(letters(shown)).to.equal(letters(write(new PlainWriter(), [whole])))
        },
      ),
    )
  })

  it('ends with an empty line, and is nothing if no reasoning has text', () => {
    const screen = { columns: 20 }
    expect(write(new ReasoningWriter(screen, plainStyle), ['\n\nOne\n', '\ntwo\n\n'])).to.equal(
      '│ One\n│\n│ two\n\n',
    )
    expect(write(new ReasoningWriter(screen, plainStyle), ['\n', ' \n'])).to.equal('')
    expect(write(new PlainReasoningWriter(), ['\n', '\n'])).to.equal('')
  })

  it('shows a word that never ends', () => {
    const writer = new ReasoningWriter({ columns: 40 }, plainStyle)
    expect(writer.push('x'.repeat(150))).to.equal('')
    expect(writer.push('x'.repeat(150)).replaceAll(/[│ \n]/g, '')).to.equal('x'.repeat(300))
  })
})
