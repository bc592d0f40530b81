import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { splitFiles } from '../../../src/contract/resources/file-block.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { servedMessages } from '../../support/served-messages.ts'

describe('a file in a message', () => {
  const { sandbox, server, env, sent } = servedMessages()
  const at = (name: string) => join(sandbox.home, name)
  const contents: Record<string, string> = {
    'a.ts': 'let a\n',
    'b.md': '```\nlet b\n```',
    'my notes.txt': 'one\r\ntwo\r\n',
    'line\nbreak': 'x\n',
    'café ☃': '\n',
    '-dash': 'dash\n',
    empty: '',
  }
  const fileOf = (name: string) => ({ name, content: contents[name] })

  before(() => {
    for (const [name, content] of Object.entries(contents)) writeFileSync(at(name), content)
  })

  const send = (words: string[], stdin: string | Uint8Array = '') =>
    runChatctl(sandbox, ['chat', 'send', ...words], { env: env(), stdin })
  const sentParts = async (words: string[], stdin?: string | Uint8Array) => {
    expect(await send(words, stdin)).to.deep.equal({ exitCode: 0, stdout: 'ok\n', stderr: '' })
    return splitFiles(sent()[0] ?? '')
  }

  for (const [title, words, names] of [
    ['precedes the message', ['Hi', '-f', 'a.ts'], ['a.ts']],
    [
      'may be one of several after one flag',
      ['Hi', '-f', 'a.ts', 'b.md', 'empty'],
      ['a.ts', 'b.md', 'empty'],
    ],
    ['may be one of several flags', ['Hi', '-f', 'a.ts', '--file=b.md'], ['a.ts', 'b.md']],
    ['may have an unusual name', ['Hi', '-f', 'my notes.txt', 'line\nbreak', 'café ☃'], undefined],
    ['may precede a message after --', ['-f', 'a.ts', '--', 'Hi'], ['a.ts']],
    ['may precede another flag and the message', ['-f', 'a.ts', '-m', 'small', 'Hi'], ['a.ts']],
    ['may be given twice', ['Hi', '-f', 'a.ts', 'a.ts'], ['a.ts', 'a.ts']],
  ] as const)
    it(title, async () => {
      const parts = await sentParts([...words])
      expect(parts).to.deep.equal({ files: (names ?? words.slice(2)).map(fileOf), text: 'Hi' })
    })

  it('may be followed by the message in quotes', async () => {
    const parts = { files: [fileOf('a.ts'), fileOf('b.md')], text: 'What is this?' }
    expect(await sentParts(['-f', 'a.ts', 'b.md', 'What is this?'])).to.deep.equal(parts)
    server.requests.length = 0
    expect(await sentParts(['-f', 'a.ts', '--file=b.md', 'What is this?', '-m', 'x'])).to.deep.equal(parts)
  })

  it('precedes a message from stdin', async () =>
    expect(await sentParts(['Review', '-f', 'a.ts', 'my notes.txt'], 'the diff\n')).to.deep.equal({
      files: [fileOf('a.ts'), fileOf('my notes.txt')],
      text: 'Review\n\nthe diff',
    }))

  it('can be stdin', async () =>
    expect(await sentParts(['Review', '-f', '-', 'a.ts'], 'the diff\n')).to.deep.equal({
      files: [{ name: 'stdin', content: 'the diff\n' }, fileOf('a.ts')],
      text: 'Review',
    }))

  it('can be part of a prompt of chat complete', async () => {
    const args = ['chat', 'complete', '-f', 'a.ts', 'b.md', 'Which one?', '--system', 'Be brief']
    await runChatctl(sandbox, args, { env: env() })
    expect(JSON.parse(server.requests[0]?.body ?? '').messages).to.deep.equal([
      { role: 'system', content: 'Be brief' },
      {
        role: 'user',
        content:
          'File: a.ts\n\n```ts\nlet a\n```\n\nFile without a final newline: b.md\n\n````md\n```\nlet b\n```\n````\n\nWhich one?',
      },
    ])
  })

  describe('is refused, and nothing is sent,', () => {
    before(() => {
      mkdirSync(at('directory'))
      writeFileSync(at('nul'), 'é\0')
      writeFileSync(at('latin1'), Buffer.from('caf\xe9', 'latin1'))
      writeFileSync(at('utf16'), Buffer.from('\ufeffhello', 'utf16le'))
      writeFileSync(at('image'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]))
      writeFileSync(at('huge'), '')
      truncateSync(at('huge'), 2 * 1024 ** 3)
      writeFileSync(at('large'), 'x'.repeat(1_500))
    })
    afterEach(() => expect(server.requests).to.deep.equal([]))

    for (const [name, words] of [
      ['none', 'Cannot read none: no such file'],
      ['directory', 'Cannot read directory: it is a directory'],
      ['nul', 'nul is not text: it has a NUL character at position 1'],
      ['image', 'image is not text: it has a NUL character at position 8'],
      ['latin1', 'latin1 is not UTF-8 text'],
      ['utf16', 'utf16 is UTF-16 text, not UTF-8'],
      ['huge', 'huge is larger than 1 MiB'],
    ] as const)
      it(`with an error that names it: ${name}`, async () =>
        expectFailure(await send(['Hi', '-f', name]), 2, words))

    it('if it is a device or a loop of symbolic links', async function () {
      if (process.platform === 'win32') this.skip()
      symlinkSync('/dev/zero', at('link'))
      symlinkSync('loop', at('loop'))
      const device = 'it is a device, not a regular file'
      expectFailure(await send(['Hi', '-f', '/dev/zero']), 2, `Cannot read /dev/zero: ${device}`)
      expectFailure(await send(['Hi', '-f', 'link']), 2, `Cannot read link: ${device}`)
      expectFailure(await send(['Hi', '-f', 'loop']), 2, 'Cannot read loop: ', 'ELOOP')
    })

    it('together with all others that cannot be sent', async () => {
      const run = await send(['Hi', '-f', 'a.ts', 'none', 'image', 'huge'])
      expectFailure(run, 2, '3 of 4 files cannot be sent: cannot read none: ', 'image is not text', '1 MiB')
      expect(run.stderr).to.contain('--max-file-size')
    })

    it('if it is larger than --max-file-size', async () => {
      const sized = (size: string) => send(['Hi', '-f', 'large', '--max-file-size', size])
      expectFailure(await sized('1k'), 2, 'large is larger than 1 KiB', '--max-file-size SIZE')
      expect((await sized('1k')).stderr).to.contain('The embedded service accepts messages of at most 1 MiB.')
      expectFailure(await sized('1499'), 2, 'large is larger than 1499 bytes')
      expectFailure(await sized('1.25k'), 2, 'large is larger than 1280 bytes')
      expectFailure(await sized('0'), 2, '"0" is not between 1 byte and 64m')
      expectFailure(await sized('1g'), 2, '"1g" is not between 1 byte and 64m')
      expectFailure(await sized('some'), 2, '"some" is not a size such as 500k or 2m')
      const refused = await send(['Hi', '-f', '-', '--max-file-size', '3'], 'four')
      expectFailure(refused, 2, 'stdin is larger', '--max-file-size SIZE')
    })

    it('if there is no message', async () => {
      expectFailure(await send(['-f', 'a.ts']), 2, 'MESSAGE is missing or empty', 'before -f, or on stdin')
      expectFailure(await send(['-f', '-'], 'x'), 2, 'MESSAGE is missing or empty')
      const args = ['chat', 'complete', '-f', 'a.ts']
      expectFailure(await runChatctl(sandbox, args, { env: env() }), 2, 'MESSAGE is missing or empty')
    })

    it('if it may be the message, and the error shows how to send that', async () => {
      const run = await send(['-f', 'a.ts', 'my notes.txt', 'Summarize'])
      expectFailure(run, 2, 'Cannot read Summarize: no such file')
      expect(run.stderr).to.contain('chatctl chat send Summarize -f a.ts "my notes.txt"')
      // Directly after the flag, it can only be a file.
      const refused = await send(['-f', 'a.ts', '-f', 'my note.txt'])
      expectFailure(refused, 2, 'Cannot read my note.txt: no such file')
      const rejected = await send(['Hi', '-f', 'a.ts', 'my note.txt'])
      expectFailure(rejected, 2, 'Cannot read my note.txt: no such file')
    })

    it('if stdin is also needed for the message', async () => {
      expectFailure(await send(['-', '-f', '-'], 'x'), 2, 'stdin was already read')
      expectFailure(await send(['Hi', '-f', '-', '-'], 'x'), 2, 'stdin was already read')
    })
  })
})
