import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import { readCommand, splitCommand } from '../../src/system/split-command.ts'

describe('the words of a command line', () => {
  it('are separated by spaces, unless they are quoted', () => {
    expect(splitCommand(`pass show 'a b'"c"\\ d  ""`)).to.deep.equal(['pass', 'show', 'a bc d', ''])
    expect(splitCommand('"a\\"b" "\\x"')).to.deep.equal(['a"b', '\\x'])
    expect(splitCommand(' \t')).to.deep.equal([])
  })

  it('are invalid if a quote is not closed, or after a last backslash', () => {
    for (const line of [`'a`, '"a', 'a\\', '"a\\"']) expect(splitCommand(line), line).to.equal(undefined)
  })

  it('equal the words of a POSIX shell', () => {
    const piece = fc.constantFrom('a', ' ', "'", '"', '\\', '\t', 'é')
    const lines = fc.sample(fc.array(piece, { maxLength: 8 }), { numRuns: 300, seed: 1 })
    const valid = lines.map((pieces) => pieces.join('')).filter((line) => splitCommand(line) !== undefined)
    expect(valid.length).to.be.above(50)
    const script = valid.map((line) => `printf '%s\\0' ${line} END`).join('\n')
    const shown = execFileSync('/bin/sh', { input: script, encoding: 'utf8' })
    const expected = valid.map((line) => [...(splitCommand(line) ?? []), 'END', ''].join('\0')).join('')
    expect(shown).to.equal(expected)
  })
})

describe('a command line that runs without a shell', () => {
  const read = (line: string) => readCommand(line, 'test command')

  it('may be a path with backslashes on Windows', () => {
    const readThere = (line: string) => readCommand(line, 'test command', 'win32')
    expect(readThere('C:\\tools\\op.exe read \\\\server\\key')).to.deep.equal([
      'C:\\tools\\op.exe',
      'read',
      '\\\\server\\key',
    ])
    expect(readThere('"C:\\Program Files\\op\\" x')).to.deep.equal(['C:\\Program Files\\op\\', 'x'])
    for (const line of ['C:op.exe', 'tools\\op.exe', './op']) {
      expect(() => readThere(line), line).to.throw('is another program in each directory')
    }
  })

  it('has a program and its arguments, and may quote what a shell would expand', () => {
    expect(read('op read op://vault/item/key?attribute=otp')).to.deep.equal([
      'op',
      'read',
      'op://vault/item/key?attribute=otp',
    ])
    expect(read(`/bin/echo '$HOME|' \\$ a$ "\\$(x)" \\| a~ a#b 5$%`)).to.deep.equal([
      '/bin/echo',
      '$HOME|',
      '$',
      'a$',
      '$(x)',
      '|',
      'a~',
      'a#b',
      '5$%',
    ])
  })

  for (const [line, character] of [
    ['cat key | head -1', '|'],
    ['cat key;ls', ';'],
    ['cat < key', '<'],
    ['cat key > copy', '>'],
    ['a && b', '&'],
    ['cat $(echo key)', '$'],
    ['cat "$KEY"', '$'],
    ['cat `echo key`', '`'],
    ['cat "`echo key`"', '`'],
    ['cat ~/key', '~'],
    ['cat key # mine', '#'],
    ['(cat key)', '('],
  ] as const) {
    it(`is refused if it needs a shell: ${line}`, () => {
      expect(() => read(line)).to.throw(`it runs without a shell, but ${character} needs one`)
    })
  }

  it('is refused without a program, or with one below the working directory', () => {
    expect(() => read(' ')).to.throw('it has no program')
    expect(() => read("'' x")).to.throw('it has no program')
    expect(() => read("cat 'key")).to.throw('a quote is not closed')
    for (const program of ['./key', 'bin/key', '../key'])
      expect(() => read(`${program} x`)).to.throw(`"${program}" is another program in each directory`)
  })
})
