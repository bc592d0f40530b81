import { expect } from 'chai'
import fc from 'fast-check'
import type { Key, Report } from '../../../src/terminal/editor/key.ts'
import { press } from '../../../src/terminal/editor/key.ts'
import { KeyDecoder } from '../../../src/terminal/editor/key-decoder.ts'
import { codePoint } from '../../support/code-point.ts'
import { forAll, forAllTimes } from '../../support/for-all.ts'

/** A decoder whose timer the test controls. */
function listen(awaitsReport = false) {
  const keys: Key[] = []
  let pending: { ms: number; run: () => void } | undefined
  const reports: Report['name'][] = []
  const decoder = new KeyDecoder({
    onKey: (key) => keys.push(key),
    onReport: ({ name }) => reports.push(name),
    awaitsReport: () => awaitsReport,
    startTimer: (ms, run) => {
      const timer = { ms, run }
      pending = timer
      return () => {
        if (pending === timer) pending = undefined
      }
    },
  })
  const wait = (ms: number): void => {
    if (!pending || pending.ms > ms) return
    const { run } = pending
    pending = undefined
    run()
  }
  return { keys, reports, decoder, wait }
}

/** The keys of pieces that arrive without delay, followed by a long pause. */
function decode(...pieces: string[]): Key[] {
  const { keys, decoder, wait } = listen()
  for (const piece of pieces) decoder.push(piece)
  wait(Infinity)
  return keys
}

const text = (typed: string): Key => ({ type: 'text', text: typed })
const paste = (pasted: string): Key => ({ type: 'paste', text: pasted })
const ctrl = { ctrl: true }
const alt = { alt: true }
const shift = { shift: true }

/** Joins consecutive text keys, because their grouping depends on how the bytes arrive. */
function joinTexts(keys: readonly Key[]): Key[] {
  const joined: Key[] = []
  for (const key of keys) {
    const last = joined.at(-1)
    if (key.type === 'text' && last?.type === 'text') joined[joined.length - 1] = text(last.text + key.text)
    else joined.push(key)
  }
  return joined
}

const sequences: [string, Key[]][] = [
  ['\r', [press('enter')]],
  ['\n', [press('j', ctrl)]],
  ['\t', [press('tab')]],
  ['\u007f', [press('backspace')]],
  ['\b', [press('backspace')]],
  ['\u0001', [press('a', ctrl)]],
  ['\u001a', [press('z', ctrl)]],
  ['\u001f', [press('_', ctrl)]],
  ['\u0000\u001c\u001d\u001e', []],
  ['\u001b', [press('escape')]],
  ['\u001b\u001b', [press('escape'), press('escape')]],
  ['\u001b\r', [press('enter', alt)]],
  ['\u001b\n', [press('j', { ctrl: true, alt: true })]],
  ['\u001bb', [press('b', alt)]],
  ['\u001bF', [press('f', { alt: true, shift: true })]],
  ['\u001bd', [press('d', alt)]],
  ['\u001b\u007f', [press('backspace', alt)]],
  ['\u001b<', [press('<', alt)]],
  ['\u001bé\u001b😀\u001b1x', [text('x')]],
  ['\u001b[A\u001b[B\u001b[C\u001b[D', [press('up'), press('down'), press('right'), press('left')]],
  ['\u001bOA\u001bOB\u001bOC\u001bOD', [press('up'), press('down'), press('right'), press('left')]],
  ['\u001b[1;5C\u001b[1;3D', [press('right', ctrl), press('left', alt)]],
  ['\u001b[1;2A\u001b[1;6B', [press('up', shift), press('down', { ctrl: true, shift: true })]],
  ['\u001b[5D\u001bO5C', [press('left', ctrl), press('right', ctrl)]],
  ['\u001b\u001b[A', [press('up', alt)]],
  ['\u001b\u001b[I', [press('escape')]],
  ['\u001b[H\u001b[1~\u001b[7~\u001bOH', Array<Key>(4).fill(press('home'))],
  ['\u001b[F\u001b[4~\u001b[8~\u001bOF', Array<Key>(4).fill(press('end'))],
  ['\u001b[3~\u001b[3;5~', [press('delete'), press('delete', ctrl)]],
  ['\u001b[5~\u001b[6~', []],
  ['\u001b[7$x', [press('home', shift), text('x')]],
  ['\u001b[8^\u001b[7@', [press('end', ctrl), press('home', { ctrl: true, shift: true })]],
  ['\u001b[a\u001bOd', [press('up', shift), press('left', ctrl)]],
  ['\u001b[Z', [press('tab', shift)]],
  ['\u001bOM\u001bOp\u001bOy', [press('enter'), text('0'), text('9')]],
  // The kitty protocol.
  ['\u001b[13;2u', [press('enter', shift)]],
  ['\u001b[99;5u', [press('c', ctrl)]],
  ['\u001b[99;5:1u\u001b[99;5:2u\u001b[99;5:3u', [press('c', ctrl), press('c', ctrl)]],
  ['\u001b[1;1:3A\u001b[1;1:1B', [press('down')]],
  ['\u001b[27u\u001b[27;1:3u', [press('escape')]],
  ['\u001b[1089::99;5u', [press('c', ctrl)]],
  ['\u001b[97;2u\u001b[97:65;2u', [text('A'), text('A')]],
  ['\u001b[97;;229u', [text('å')]],
  ['\u001b[128512u', [text('😀')]],
  ['\u001b[57414u\u001b[57419u\u001b[57402u', [press('enter'), press('up'), text('3')]],
  ['\u001b[109;5u\u001b[105;5u\u001b[91;5u', [press('enter'), press('tab'), press('escape')]],
  ['\u001b[45;6u\u001b[47;5u', [press('_', ctrl), press('_', ctrl)]],
  // The Super modifier, private codes, and invalid code points.
  ['\u001b[99;9u\u001b[57441;2u\u001b[99999999u\u001b[97:99999999;2u\u001b[55296u', [text('A')]],
  // modifyOtherKeys of xterm.
  ['\u001b[27;2;13~', [press('enter', shift)]],
  ['\u001b[27;5;13~\u001b[27;3;13~', [press('enter', ctrl), press('enter', alt)]],
  ['\u001b[27;5;106~', [press('j', ctrl)]],
  ['\u001b[27;2;32~', [text(' ')]],
]

/** Sequences of terminals that are not keys, or keys that the editor does not use. */
const foreign: [string, string][] = [
  ['focus', '\u001b[I\u001b[O'],
  ['SGR mouse', '\u001b[<35;12;4M\u001b[<0;1;1m'],
  ['X10 mouse', '\u001b[M #~\u001b[M\u0020\u00e9\ufffd'],
  ['rxvt mouse', '\u001b[32;10;20M'],
  ['cursor position', '\u001b[12;40R'],
  ['device attributes', '\u001b[?62;1;6;22c\u001b[>1;4600;0c'],
  ['mode report', '\u001b[?2026;2$y\u001b[4;1$y'],
  ['kitty flags', '\u001b[?1u'],
  ['color report (OSC, BEL)', '\u001b]11;rgb:0000/0000/0000\u0007'],
  ['color report (OSC, ST)', '\u001b]11;rgb:0000/0000/0000\u001b\\'],
  ['version report (DCS)', '\u001bP>|XTerm(370)\u001b\\'],
  ['graphics (APC)', '\u001b_Gi=31;OK\u001b\\'],
  ['a title with a line break', '\u001b]lrm -rf\r\n\u001b\\'],
  ['function keys', '\u001bOP\u001b[15~\u001b[24;2~\u001b[1;5P'],
  ['function keys of the Linux console', '\u001b[[A\u001b[[E'],
  ['insert', '\u001b[2~'],
  ['the end of a paste without its start', '\u001b[201~'],
  ['a very long sequence', `\u001b[${'1;'.repeat(500)}A`],
]

describe('the key decoder', () => {
  for (const [sent, keys] of sequences)
    it(`decodes ${JSON.stringify(sent)}`, () => {
      expect(decode(sent)).to.deep.equal(keys)
      expect(decode(...sent.split('')), 'byte by byte').to.deep.equal(keys)
    })

  for (const [what, sent] of foreign)
    it(`ignores ${what}`, () => {
      expect(decode(`a${sent}b`)).to.deep.equal([text('a'), text('b')])
      expect(decode('a', ...sent.split(''), 'b'), 'byte by byte').to.deep.equal([text('a'), text('b')])
    })

  it('returns typed text as whole characters', () => {
    expect(decode('héllo 世界 👩‍👩‍👧')).to.deep.equal([text('héllo 世界 👩‍👩‍👧')])
    expect(decode('\ud83d', '\ude00')).to.deep.equal([text('😀')])
    expect(decode('a\ud83d', 'b\ude00c\u009b')).to.deep.equal([text('a'), text('bc')])
  })

  it('treats ESC as Escape after 50 ms without another byte, and not before', () => {
    const { keys, decoder, wait } = listen()
    decoder.push('\u001b')
    wait(49)
    expect(keys).to.deep.equal([])
    wait(50)
    expect(keys).to.deep.equal([press('escape')])
    decoder.push('[A')
    expect(keys).to.deep.equal([press('escape'), text('[A')])
  })

  it('waits longer for the rest of a sequence, and then decodes the next keys normally', () => {
    for (const begun of ['\u001b[', '\u001bO', '\u001b]', '\u001bP', '\u001b[M']) {
      const { keys, decoder, wait } = listen()
      decoder.push(begun)
      wait(50)
      expect(keys).to.deep.equal([])
      wait(500)
      decoder.push('xyz')
      expect(keys, JSON.stringify(begun)).to.deep.equal([text('xyz')])
    }
  })

  it('decodes a key that interrupts a sequence', () => {
    expect(decode('\u001b[1;\u0003')).to.deep.equal([press('c', ctrl)])
    expect(decode('\u001b[1;\u001b[A')).to.deep.equal([press('up')])
    expect(decode('\u001b]11;\u0003')).to.deep.equal([press('c', ctrl)])
    expect(decode('\u001b[é')).to.deep.equal([text('é')])
  })

  it('reports what the terminal replies and reports, also between keys', () => {
    const { keys, reports, decoder } = listen()
    decoder.push('a\u001b[?1ub\u001b[?62;22c\u001b[O\u001b[Ic\u001b[?c\u001b[?ud')
    expect(reports).to.deep.equal(['keyboard', 'attributes', 'blur', 'focus', 'attributes', 'keyboard'])
    expect(joinTexts(keys)).to.deep.equal([text('abcd')])
  })

  it('does not type a reply that arrives with pauses, while one is due', () => {
    const { keys, reports, decoder, wait } = listen(true)
    for (const part of '\u001b[?62;4c') {
      decoder.push(part)
      wait(part === '?' ? Infinity : 499)
    }
    expect(reports).to.deep.equal(['attributes'])
    expect(keys).to.deep.equal([])
    decoder.push('\u001b')
    wait(500)
    expect(keys).to.deep.equal([press('escape')])
  })

  it('treats a lone ESC at the end of the input as Escape', () => {
    const { keys, decoder } = listen()
    decoder.push('\u001b')
    decoder.close()
    expect(keys).to.deep.equal([press('escape')])
  })

  it('uses a real timer by default', async () => {
    const key = await new Promise<Key>((onKey) => new KeyDecoder({ onKey }).push('\u001b'))
    expect(key).to.deep.equal(press('escape'))
  })

  describe('for a bracketed paste', () => {
    it('returns one key, with \\n as line breaks', () =>
      expect(decode('a\u001b[200~one\r\ntwo\rthree\nfour\tfive\u001b[201~\r')).to.deep.equal([
        text('a'),
        paste('one\ntwo\nthree\nfour\tfive'),
        press('enter'),
      ]))

    it('removes control characters from escape sequences inside the paste', () =>
      expect(
        decode('\u001b[200~\u001b[31mred\u001b[A\u001b[200~\u0003\u009b\u007f\u001b[201~'),
      ).to.deep.equal([paste('[31mred[A[200~')]))

    it('returns no key for an empty paste', () =>
      expect(decode('\u001b[200~\u001b[201~x')).to.deep.equal([text('x')]))

    it('returns an unfinished paste when the input ends', () => {
      const { keys, decoder, wait } = listen()
      decoder.push('\u001b[200~one\rtwo\u001b[20')
      wait(499)
      expect(keys).to.deep.equal([])
      decoder.close()
      expect(keys).to.deep.equal([paste('one\ntwo[20')])
    })

    for (const [ending, end, last] of [
      ['500 ms without a byte', undefined, []],
      ['a lone Ctrl-C', '\u0003', [press('c', ctrl)]],
      ['a lone Ctrl-C of the kitty protocol', '\u001b[99;133u', [press('c', ctrl)]],
    ] as const)
      it(`ends a paste without an end mark after ${ending}`, () => {
        const { keys, decoder, wait } = listen()
        decoder.push('\u001b[200~one\u0003\r')
        wait(499)
        decoder.push('two')
        expect(keys).to.deep.equal([])
        if (end === undefined) wait(500)
        else decoder.push(end)
        const pasted = [paste('one\ntwo'), ...last]
        expect(keys).to.deep.equal(pasted)
        decoder.push('\u0004')
        expect(keys.slice(pasted.length)).to.deep.equal([press('d', ctrl)])
      })

    it('does not type what arrives late from a paste, as its Enter would send a message', () => {
      const { keys, decoder, wait } = listen()
      for (const piece of ['\u001b[200~one', '\r/two\r', '\u001b[31m\r', '\r/three\r']) {
        decoder.push(piece)
        wait(500)
      }
      expect(keys).to.deep.equal([paste('one'), paste('\n/two\n'), paste('[31m\n'), paste('\n/three\n')])
      decoder.push('x\r/y\u001b[201~z\r')
      expect(keys.slice(4)).to.deep.equal([paste('x\n/y'), text('z'), press('enter')])
      decoder.push('ab\r')
      decoder.push('\u001b[200~c')
      wait(500)
      decoder.push('\u001b[200~d\re\u001b[201~')
      expect(keys.slice(7)).to.deep.equal([text('ab'), press('enter'), paste('c'), paste('d\ne')])
    })

    it('types again after one key that follows an unfinished paste', () => {
      const { keys, decoder, wait } = listen()
      decoder.push('\u001b[200~one')
      wait(500)
      for (const typed of ['\u001b[D', '😀', 'ab\r']) decoder.push(typed)
      expect(keys.slice(1)).to.deep.equal([press('left'), text('😀'), text('ab'), press('enter')])
    })

    it('types again after an end mark that arrives late', () => {
      const { keys, decoder, wait } = listen()
      decoder.push('\u001b[200~one')
      wait(500)
      for (const late of ['\u001b[201~', 'ab\r']) decoder.push(late)
      expect(keys).to.deep.equal([paste('one'), text('ab'), press('enter')])
    })

    // A search from the start of the paste for each piece would take hours.
    it('takes linear time for 300 kB, in pieces of any size', () => {
      const line = 'a line that is pasted, \u001b[31m\r\n'
      const pasted = line.repeat(10_000)
      for (const size of [1, 1_000]) {
        const { keys, decoder } = listen()
        decoder.push('\u001b[200~')
        for (let at = 0; at < pasted.length; at += size) decoder.push(pasted.slice(at, at + size))
        decoder.push('\u001b[201~')
        expect(keys).to.deep.equal([paste('a line that is pasted, [31m\n'.repeat(10_000))])
      }
    })
  })

  it('returns the same keys for every split of the bytes', () => {
    const piece = fc.oneof(
      fc.constantFrom(...sequences.map(([sent]) => sent), ...foreign.map(([, sent]) => sent)),
      fc.string({ unit: codePoint, maxLength: 8 }),
      fc.constantFrom('\u001b[200~', '\u001b[201~', '\u001b', '\u001b[', '\u001b]', '\r\n', '😀'),
    )
    // Within a paste, Ctrl-C ends it only if it arrives alone.
    const interrupts = (pasted: string) => pasted.includes('\u0003') || /;5(?::\d)?u/.test(pasted)
    const sent = fc
      .array(piece, { maxLength: 12 })
      .map((pieces) => pieces.join(''))
      .filter((whole) => !whole.split('[200~').slice(1).some(interrupts))
    forAllTimes(4, sent, fc.array(fc.nat({ max: 80 })), (whole, cuts) => {
      const places = [...new Set([0, ...cuts.filter((cut) => cut < whole.length), whole.length])]
      places.sort((a, b) => a - b)
      const pieces = places.slice(1).map((place, index) => whole.slice(places[index], place))
      expect(joinTexts(decode(...pieces))).to.deep.equal(joinTexts(decode(whole)))
      expect(joinTexts(decode(...whole.split('')))).to.deep.equal(joinTexts(decode(whole)))
    })
  })

  it('never returns control characters as text', () =>
    forAll(fc.array(fc.string({ unit: codePoint })), (pieces) => {
      for (const key of decode(...pieces)) {
        if (key.type === 'text') expect(key.text).not.to.match(/[\p{Control}\p{Surrogate}]/u)
        if (key.type === 'paste')
          expect(key.text.replace(/[\t\n]/g, '')).not.to.match(/[\p{Control}\p{Surrogate}]/u)
      }
    }))
})
