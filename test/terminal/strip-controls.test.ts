import { expect } from 'chai'
import { PlainWriter } from '../../src/terminal/markdown/plain-writer.ts'
import { ControlStripper } from '../../src/terminal/strip-controls.ts'

function strip(parts: readonly string[]): string {
  const stripper = new ControlStripper()
  return parts.map((part) => stripper.push(part)).join('') + stripper.end()
}

const cases: [string, string, string][] = [
  ['a color', 'a\u001b[31mb', 'ab'],
  ['a color in C1', 'a\u009b1;31mb', 'ab'],
  ['a title', 'a\u001b]0;title\u0007b', 'ab'],
  ['a link', '\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a device control string', 'a\u001bPq#0\u001b\\b', 'ab'],
  ['a title in C1', 'a\u009d0;t\u009cb', 'ab'],
  ['a short sequence', 'a\u001b7b\u001b(Bc\u001bcd', 'abcd'],
  ['an escape before another', 'a\u001b\u001b[1mb', 'ab'],
  ['a title that another sequence interrupts', 'a\u001b]0;t\u001b[1mb', 'a]0;tb'],
  ['a title that never ends', 'a\u001b]0;title and more', 'a]0;title and more'],
  ['a title that a line break ends', 'a\u001b]0;title\nb\u0007', 'a]0;title\nb'],
  ['an invalid sequence', 'a\u001b[3\nb', 'a[3\nb'],
  ['a truncated sequence', 'a\u001b[3', 'a'],
  [
    'bells, carriage returns, and bidirectional marks',
    'a\u0007\r\n\tb\u202e\u2066\u061c\u200e\u200f',
    'a\n\tb',
  ],
  ['half a character', '👍\ud83d', '👍\ufffd'],
]

describe('streamed text with control characters', () => {
  for (const [name, text, expected] of cases)
    it(`is the same for every split of ${name}`, () => {
      expect(strip([text])).to.equal(expected)
      expect(strip(text.split(''))).to.equal(expected)
      for (let at = 1; at < text.length; at++)
        expect(strip([text.slice(0, at), text.slice(at)])).to.equal(expected)
    })

  it('keeps a control string that does not end within 4,096 characters', () => {
    expect(strip(['\u001b]0;', 'x'.repeat(5000), '\u0007y'])).to.equal(`]0;${'x'.repeat(5000)}y`)
    expect(strip(['\u001b]0;', 'x'.repeat(4000), '\u0007y'])).to.equal('y')
  })
})

describe('plain text output', () => {
  it('keeps marks and line breaks, and ends with one newline', () => {
    const writer = new PlainWriter()
    expect(writer.push('# **a**\n')).to.equal('# **a**')
    expect(writer.push('\n  b\u001b[3')).to.equal('\n\n  b')
    expect(writer.push('1m\tc中\n\n')).to.equal('\tc中')
    expect(writer.end()).to.equal('\n')
  })

  it('is empty for an empty input', () => {
    const writer = new PlainWriter()
    expect(writer.push('\n') + writer.end()).to.equal('')
  })
})
