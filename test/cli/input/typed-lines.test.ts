import { expect } from 'chai'
import fc from 'fast-check'
import { type DecodedInput, TypedLines } from '../../../src/cli/input/read-lines.ts'

const maxLength = 40_000

/** Feeds a text in pieces, which may split a character. */
function feed(text: string, cuts: number[] = [], isRaw = true): DecodedInput & { last: string | undefined } {
  const lines = new TypedLines({ maxLength, isRaw })
  const bytes = Buffer.from(text)
  const whole: DecodedInput = { lines: [], echo: '', keys: [] }
  const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])]
  let from = 0
  for (const to of ends.sort((a, b) => a - b)) {
    const typed = lines.feed(bytes.subarray(from, to))
    from = to
    whole.lines.push(...typed.lines)
    whole.echo += typed.echo
    whole.keys.push(...typed.keys)
  }
  return { ...whole, last: lines.end() }
}

describe('a typed or pasted line', () => {
  it('can be longer than the 4,095 bytes that a terminal buffers', () => {
    const line = `http://127.0.0.1:5/callback?code=${'c'.repeat(30_000)}`
    expect(feed(`${line}\r`).lines).to.deep.equal([line])
  })

  it('ends with CR, LF, or both, and is echoed', () => {
    expect(feed('a\rb\nc\r\nd')).to.deep.equal({
      lines: ['a', 'b', 'c'],
      echo: 'a\nb\nc\nd',
      keys: [],
      last: 'd',
    })
  })

  it('can be corrected with backspace and Ctrl-U', () => {
    expect(feed('abc\u007f\bx\r').lines).to.deep.equal(['ax'])
    expect(feed('\u007fé😀\u007f\r').lines).to.deep.equal(['é'])
    expect(feed('wrong\u0015right\r')).to.deep.include({ lines: ['right'] })
  })

  it('passes on the keys that the terminal would handle', () => {
    expect(feed('a\u0003\u001a\u001cb').keys).to.deep.equal(['interrupt', 'suspend', 'quit'])
    expect(feed('\u0004').keys).to.deep.equal(['end'])
    expect(feed('a\u0004\r')).to.deep.include({ keys: [] })
  })

  it('does not control the terminal with its escape sequences', () => {
    const { lines, echo } = feed('a\u001b[31mb\u001b[A\u0007\r')
    expect(lines).to.deep.equal(['ab\u0007'])
    expect(echo).to.equal('a[31mb[A\n')
  })

  it('is truncated one character after its maximum length, so that validation rejects it', () => {
    const [line = ''] = feed('x'.repeat(maxLength + 1_000)).lines.concat(
      feed(`${'x'.repeat(maxLength + 1_000)}\n`, [], false).lines,
    )
    expect(line).to.have.length(maxLength + 1)
  })

  it('is the same for every split of the input', () => {
    const character = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 1 }),
      fc.constantFrom('\r', '\n', '\b', 'é', '😀'),
    )
    fc.assert(
      fc.property(fc.array(character), fc.array(fc.nat(200)), fc.boolean(), (characters, cuts, isRaw) => {
        const text = characters.join('')
        expect(feed(text, cuts, isRaw)).to.deep.equal(feed(text, [], isRaw))
      }),
      { seed: 24, numRuns: 500 },
    )
  })
})
