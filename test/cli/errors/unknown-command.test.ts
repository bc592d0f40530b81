import { expect } from 'chai'
import { aliases, isSentence } from '../../../src/cli/errors/aliases.ts'
import { unknownCommand } from '../../../src/cli/errors/unknown-command.ts'
import { readLine } from '../../../src/cli/line/read-line.ts'
import { commands } from '../../support/manifest.ts'

const visible = commands.filter(({ hidden }) => !hidden)
const ids = visible.map(({ id }) => id)

describe('the table of what other tools call a command or a flag', () => {
  it('has at most 80 rows', () => expect(Object.keys(aliases)).to.have.length.at.most(80))

  it('names commands and flags that exist', () => {
    for (const [key, value] of Object.entries(aliases)) {
      const lines = isSentence(value)
        ? [...value.matchAll(/chatctl ([a-z][^,.]*)/g)].map(([, line]) => line)
        : [value]
      for (const line of lines) {
        const words = (line ?? '').split(' ')
        if (key.startsWith('* ') || line === '--version') continue
        const { path, rest } = readLine(words, ids)
        const flags = words.filter((word) => word.startsWith('--'))
        const known = visible.flatMap(({ flags }) => Object.keys(flags))
        expect(path.length > 0 || flags.length > 0, value).to.equal(true)
        const shown = rest.filter((word) => /^[a-z]/.test(word))
        expect(shown, value).to.deep.equal([])
        for (const flag of flags) expect(known, value).to.include(flag.slice(2))
      }
    }
  })
})

describe('an unknown command', () => {
  const hintFor = (line: string) => unknownCommand(readLine(line.split(' '), ids), ids).hint

  for (const [line, hint] of [
    ['users rm u1', aliases['users delete']],
    ['user get u1', 'Did you mean: chatctl users. To send it as a message: chatctl "user get u1"'],
    ['get user u1', 'Did you mean: chatctl users get. To send it as a message: chatctl "get user u1"'],
    ['server keys ls', 'Did you mean: chatctl service. To send it as a message: chatctl "server keys ls"'],
    ['users lst', 'Did you mean: chatctl users list'],
    ['-p work users lst', 'Did you mean: chatctl users list'],
    [
      'chat Hello',
      'For one message: chatctl chat send Hello. To begin a session with it: chatctl chat -- Hello',
    ],
    ['chat search plan', 'Did you mean: chatctl history search'],
    ['search plan', 'Did you mean: chatctl history search. To send it as a message: chatctl "search plan"'],
    ['sned', 'Did you mean: chatctl chat send. To send it as a message: chatctl -- sned'],
    ['xyzzy', 'To send it as a message: chatctl -- xyzzy'],
    ['help xyzzy', 'List the commands with: chatctl --help'],
    ['users --stream', 'Put flags after the command. See: chatctl users --help'],
  ])
    it(`has the hint ${JSON.stringify(hint)}: chatctl ${line}`, () =>
      expect(hintFor(line ?? '')).to.equal(hint))

  it('does not repeat a secret in a sentence, and names the command that sends it', () => {
    for (const words of [['why is sk-abcdef refused'], ['--', 'why is sk-abcdef refused']]) {
      const { message, hint } = unknownCommand(readLine(words, ids), ids)
      expect(message).to.equal('Unknown command: chatctl (hidden, it looks like a secret)')
      expect(hint).to.contain('chatctl chat send MESSAGE').and.not.contain('sk-')
    }
  })
})
