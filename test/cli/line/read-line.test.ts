import { expect } from 'chai'
import { readLine, readShortForm } from '../../../src/cli/line/read-line.ts'
import ChatSend from '../../../src/commands/chat/send.ts'

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
