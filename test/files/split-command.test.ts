import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import { splitCommand } from '../../src/system/split-command.ts'

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
