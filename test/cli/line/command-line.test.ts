import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { parse } from '@oclif/core/parser'
import { expect } from 'chai'
import fc from 'fast-check'
import { assignment, commandLine, commandWith, endCommand, quoteWord } from '../../../src/cli/command-line.ts'
import { type CompletionTree, suggest } from '../../../src/cli/completion/suggest.ts'
import { optionalTextFlag, textFlag } from '../../../src/cli/flags/flag-types.ts'
import { flagLabel } from '../../../src/cli/help/command-page.ts'
import { readLine, readShortForm } from '../../../src/cli/line/read-line.ts'
import { markOmittedValues, wordsFromEnvironment } from '../../../src/cli/line/words-for-parser.ts'
import ChatSend from '../../../src/commands/chat/send.ts'
import { splitCommand } from '../../../src/system/split-command.ts'

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

describe('a command line', () => {
  const ids = ['chat', 'chat:send', 'settings:get', 'settings:api:set', 'complete']
  for (const [line, id, path, rest, leading] of [
    ['chat send Hello', 'chat:send', 'chat send', 'Hello'],
    ['chat send=x', 'chat', 'chat', 'send=x'],
    ['chat --json send', 'chat', 'chat', '--json send'],
    ['settings api set -', 'settings:api:set', 'settings api set', '-'],
    ['settings get extra words', 'settings:get', 'settings get', 'extra words'],
    ['complete -- chat --help', 'complete', 'complete', '-- chat --help'],
    ['-p work settings -qo json get theme', 'settings:get', 'settings get', 'theme', '-p work -qo json'],
    ['--profile=work chat', 'chat', 'chat', '', '--profile=work'],
    ['settings', undefined, 'settings', ''],
    ['settings gte', undefined, 'settings', 'gte'],
    ['settings:get', undefined, '', 'settings:get'],
    ['--stream chat send', undefined, '', '--stream chat send'],
    ['', undefined, '', ''],
  ] as [line: string, id: string | undefined, path: string, rest: string, leading?: string][])
    it(`names ${id ?? 'no command'}: ${line || 'an empty line'}`, () => {
      const wordsOf = (text = '') => text.split(' ').filter(Boolean)
      const read = { id, path: wordsOf(path), leading: wordsOf(leading), rest: wordsOf(rest), isHelp: false }
      expect(readLine(wordsOf(line), ids)).to.deep.equal(read)
    })

  for (const line of ['help', 'help chat send', 'chat send -h', 'chat send Hello --help', '-p x help chat'])
    it(`asks for help: ${line}`, () => expect(readLine(line.split(' '), ids).isHelp).to.equal(true))
})

describe('a command line without a command', () => {
  const ids = ['chat', 'chat:send', 'settings:get', 'doctor']
  const flags = Object.entries({ ...ChatSend.baseFlags, ...ChatSend.flags })
  const known = flags.map(([name, flag]) => ({ ...flag, name }))
  const read = (...words: string[]) => readShortForm(words, ids, known)

  for (const words of [
    ['What is WAL?'],
    ['-m', 'chat', 'What is WAL?', '--no-stream'],
    ['-p', 'work', '-qx', 'What is WAL?'],
    ['-c', 'why'],
    ['why', '--continue'],
    ['-qc'],
    ['--', 'why'],
    ['-m', 'small', '--', '-why'],
    ['-f', 'a.ts', 'b.ts', 'What is WAL?'],
    ['What is WAL?', '-f', 'a.ts', 'b.ts'],
    ['doctor who is he'],
    ['How do bearer tokens work?'],
  ])
    it(`sends a message: ${words.join(' ')}`, () => {
      const named = { id: 'chat:send', path: ['chat', 'send'], leading: [], rest: words, isHelp: false }
      expect(read(...words)).to.deep.equal(named)
    })

  it('asks for the help of chat send', () => {
    expect(read('What is WAL?', '--help')?.isHelp).to.equal(true)
    expect(read('--', 'What is WAL?', '--help')?.isHelp).to.equal(false)
  })

  for (const words of [
    ['snd'],
    [' snd '],
    ['what', 'is it?'],
    ['what', '--', 'is it?'],
    ['-m', 'what is it?'],
    ['-m', 'small', 'why'],
    ['--bogus', 'why'],
    ['-x'],
    ['-f', 'a.ts'],
    ['settings get'],
    ['help doctor'],
    ['why is sk-abcdef refused'],
    ['-c', 'sk-abcdef'],
    ['--', 'api_key=abc'],
    ['Authorization: Bearer abc'],
    ['-f', 'a.ts', 'why sk-abcdef'],
  ])
    it(`sends nothing: ${words.join(' ')}`, () => expect(read(...words)).to.equal(undefined))
})

const args = { text: Args.string({ ignoreStdin: true }) }
const flags = {
  quiet: Flags.boolean({ char: 'q' }),
  model: textFlag({ char: 'm' }),
  attached: optionalTextFlag({ char: 'x', helpValue: '[=N]' }),
  next: optionalTextFlag({ char: 'r', helpValue: '[NAME]' }),
}

describe('a flag whose value may be omitted', () => {
  const table: [line: string, flags: object, text?: string][] = [
    ['-x Hello', { attached: true }, 'Hello'],
    ['--attached Hello', { attached: true }, 'Hello'],
    ['Hello -x', { attached: true }, 'Hello'],
    ['-x 2', { attached: true }, '2'],
    ['-x2 Hello', { attached: '2' }, 'Hello'],
    ['-x=2 Hello', { attached: '2' }, 'Hello'],
    ['--attached=2 Hello', { attached: '2' }, 'Hello'],
    ['-x -q Hello', { attached: true, quiet: true }, 'Hello'],
    ['-qx Hello', { attached: true, quiet: true }, 'Hello'],
    ['-qx2 Hello', { attached: '2', quiet: true }, 'Hello'],
    ['-x -- -q', { attached: true }, '-q'],
    ['-r Hello', { next: 'Hello' }],
    ['--next=Hello', { next: 'Hello' }],
    ['--next', { next: true }],
    ['--next -q Hello', { next: true, quiet: true }, 'Hello'],
    ['--next --attached=3', { next: true, attached: '3' }],
    ['--next one Hello', { next: 'one' }, 'Hello'],
    ['--next -- Hello', { next: true }, 'Hello'],
    ['--model x -r', { model: 'x', next: true }],
    ['-- -x', {}, '-x'],
    ['', {}],
  ]
  for (const [line, given, text] of table)
    it(`is read in: ${line || 'an empty line'}`, async () => {
      const parsed = await parse(markOmittedValues(line.split(' ').filter(Boolean), flags), { args, flags })
      expect(parsed.flags).to.deep.equal(given)
      expect(parsed.args.text).to.equal(text)
    })

  it('does not become the value of the flag before it', async () => {
    const line = markOmittedValues(['--model', '-x'], flags)
    const error = await parse(line, { args, flags }).catch((error: Error) => error)
    expect(error).to.be.an('error').with.property('message', 'Flag --model expects a value')
  })

  it('does not accept an empty value', async () => {
    for (const line of [['--attached='], ['--next='], ['--next', '']]) {
      const error = await parse(markOmittedValues(line, flags), { args, flags }).catch(
        (error: Error) => error,
      )
      expect(error, line.join(' '))
        .to.be.an('error')
        .with.property('message')
        .that.includes('must not be empty')
    }
  })

  it('shows in the help how its value is given', () => {
    const declared = {
      attached: { ...flags.attached, name: 'attached' },
      next: { ...flags.next, name: 'next' },
    }
    expect(flagLabel(declared.attached)).to.equal('-x, --attached[=N]')
    expect(flagLabel(declared.next)).to.equal('-r, --next [NAME]')
  })

  it('is completed by its value only where the next word may be the value', async () => {
    const named = Object.entries({ ...flags, next: { ...flags.next, options: ['one', 'two'] } }).map(
      ([name, flag]) => [name, { ...flag, name }],
    )
    const command = { id: 'a', args: {}, flags: Object.fromEntries(named) }
    const tree = { commands: [command], topics: [] } as unknown as CompletionTree
    const offered = async (...words: string[]) =>
      (await suggest(words, tree, undefined as never)).candidates.map(({ value }) => value)
    expect(await offered('a', '--next', '')).to.deep.equal(['one', 'two'])
    expect(await offered('a', '--next=')).to.deep.equal(['--next=one', '--next=two'])
    expect(await offered('a', '--next', '--q')).to.deep.equal(['--quiet'])
    expect(await offered('a', '--next', '--', 'o')).to.deep.equal([])
    expect(await offered('a', '--attached', '--q')).to.deep.equal(['--quiet'])
    expect(await offered('a', '--attached', '')).to.deep.equal([])
  })
})

describe('a Boolean flag with a value', () => {
  const known = { json: Flags.boolean(), stream: Flags.boolean({ allowNo: true }), system: textFlag() }

  for (const word of ['--json=true', '--stream=', '--no-stream=1'])
    it(`is rejected: ${word}`, () => {
      const [name] = word.split('=')
      expect(() => markOmittedValues([word], known)).to.throw(`${name} does not take a value`)
    })

  it('is accepted as the value of another flag or after --', () => {
    const words = ['--system', '--json=1', '--system=--json=1', '--unknown=1', 'json=1', '--', '--json=1']
    expect(markOmittedValues(words, known)).to.deep.equal(words)
  })
})

describe('the variable of a flag', () => {
  const known = {
    database: { ...textFlag({ char: 'd', dependsOn: ['service'] }), env: 'D' },
    fields: { ...textFlag(), env: 'F' },
    raw: Flags.boolean({ exclusive: ['fields', 'dry-run'] }),
    service: Flags.boolean(),
    'dry-run': { ...Flags.boolean(), env: 'R' },
  }
  const env = { D: 'of D', F: 'of F', R: '1' }
  const table: [line: string, words: string[]][] = [
    ['--service', ['--database=of D', '--fields=of F', '--dry-run']],
    ['--service --database x', ['--fields=of F', '--dry-run']],
    ['--service -dx --fields=y', ['--dry-run']],
    ['--service -- --database x', ['--database=of D', '--fields=of F', '--dry-run']],
    ['', ['--fields=of F', '--dry-run']],
    ['--raw', ['--dry-run']],
  ]
  for (const [line, words] of table)
    it(`is ignored if the line overrules it: ${line || 'an empty line'}`, () =>
      expect(wordsFromEnvironment(known, line.split(' '), env)).to.deep.equal(words))
})
