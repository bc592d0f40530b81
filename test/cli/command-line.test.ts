import { expect } from 'chai'
import fc from 'fast-check'
import { assignment, commandLine, commandWith, endCommand, quoteWord } from '../../src/cli/command-line.ts'
import { splitCommand } from '../../src/system/split-command.ts'

describe('a command line to paste', () => {
  it('has other values of flags before --', () => {
    const argv = ['--each', 'a.csv', '--', '--each', 'b']
    const line = commandWith({ id: 'chat:send', argv }, { each: 'c.csv' })
    expect(line).to.equal('chatctl chat send --each c.csv -- --each b')
  })

  it('has every word as a POSIX shell reads it', () =>
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (words) => {
        const line = words.map((word) => quoteWord(word, 'linux')).join(' ')
        expect(splitCommand(line, undefined, 'linux')).to.deep.equal(words)
      }),
    ))

  for (const [word, quoted] of [
    ['work', 'work'],
    ['my prof', '"my prof"'],
    ['C:\\Users\\ada\\a.csv', 'C:\\Users\\ada\\a.csv'],
    ['C:\\My Files\\', '"C:\\My Files\\\\"'],
    ["it's", '"it\'s"'],
    ['a&b|c', '"a&b|c"'],
    ['@file', '"@file"'],
    ['ada@chat.example', 'ada@chat.example'],
    ['', '""'],
    ['$HOME', "'$HOME'"],
    ['%PATH%', "'%PATH%'"],
    ["don't $x", "'don''t $x'"],
    ['{"a":1}', '\'{\\"a\\":1}\''],
    ['“a”', "'“a”'"],
  ] as const)
    it(`quotes ${JSON.stringify(word)} for cmd.exe and PowerShell as ${quoted}`, () =>
      expect(quoteWord(word, 'win32')).to.equal(quoted))

  it('sets a variable in a POSIX shell, and in cmd.exe and PowerShell', () => {
    expect(assignment('NO_PROXY', 'chat.example', 'linux')).to.equal('export NO_PROXY=chat.example')
    const shown = assignment('NO_PROXY', 'chat.example', 'win32')
    expect(shown).to.equal(`set "NO_PROXY=chat.example", or in PowerShell: $env:NO_PROXY = 'chat.example'`)
  })

  it('ends processes with a program of the system', () => {
    expect(endCommand([5, 7], 'linux')).to.equal('kill 5 7')
    expect(endCommand([5, 7], 'win32')).to.equal('taskkill /F /PID 5 /PID 7')
  })

  it('begins with the program', () =>
    expect(commandLine('auth', 'use', 'my prof')).to.equal('chatctl auth use "my prof"'))
})
