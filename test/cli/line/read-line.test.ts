import { expect } from 'chai'
import { readLine } from '../../../src/cli/line/read-line.ts'

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
  ] as [line: string, id: string | undefined, path: string, rest: string, leading?: string][]) {
    it(`names ${id ?? 'no command'}: ${line || 'an empty line'}`, () => {
      const wordsOf = (text = '') => text.split(' ').filter(Boolean)
      const read = { id, path: wordsOf(path), leading: wordsOf(leading), rest: wordsOf(rest), isHelp: false }
      expect(readLine(wordsOf(line), ids)).to.deep.equal(read)
    })
  }

  for (const line of ['help', 'help chat send', 'chat send -h', 'chat send Hello --help', '-p x help chat']) {
    it(`asks for help: ${line}`, () => {
      expect(readLine(line.split(' '), ids).isHelp).to.equal(true)
    })
  }
})
