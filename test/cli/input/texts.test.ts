import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { servedMessages } from '../../support/served-messages.ts'

describe('a text on stdin', () => {
  const { sandbox, server, env, sent } = servedMessages()

  const send = (stdin: string | Uint8Array, ...words: string[]) =>
    runChatctl(sandbox, ['chat', 'send', ...words], { env: env(), stdin })

  const texts: [title: string, stdin: string, words: string[], message: string][] = [
    ['is the message', 'from a pipe', [], 'from a pipe'],
    ['is the message for -', 'from a pipe', ['-'], 'from a pipe'],
    ['follows the argument after a blank line', 'the text\n', ['Review:'], 'Review:\n\nthe text'],
    ['adds nothing if it is empty', '', ['Hello'], 'Hello'],
    ['adds nothing if it is one line break', '\r\n', ['Hello'], 'Hello'],
    ['keeps every line break except the last', 'a\r\nb\r\n', [], 'a\r\nb'],
    ['keeps white space and blank lines', '  a\n\n\n  b  ', [], '  a\n\n\n  b  '],
    ['keeps every character', 'é☃👩‍👩‍👧\t"\\\u0007\u001b[31m', [], 'é☃👩‍👩‍👧\t"\\\u0007\u001b[31m'],
    ['loses its byte order mark', '\ufeffHello', [], 'Hello'],
  ]
  for (const [title, stdin, words, message] of texts)
    it(title, async () => {
      expect(await send(stdin, ...words)).to.include({ exitCode: 0, stdout: 'ok\n', stderr: '' })
      expect(sent()).to.deep.equal([message])
    })

  it('is rejected by the embedded service with a clear message if it is too long', async () => {
    const run = await runChatctl(sandbox, ['chat', 'send'], { stdin: 'x'.repeat(2_000_000) })
    expectFailure(run, 1, 'message must not exceed 1 MiB of UTF-8')
    const larger = await runChatctl(sandbox, ['chat', 'send'], { stdin: 'x'.repeat(5_000_000) })
    expectFailure(larger, 1, 'The request body is larger than 4 MiB')
  })

  it('is not sent if it is not valid UTF-8', async () => {
    expectFailure(await send(Buffer.from('caf\xe9', 'latin1')), 2, 'stdin is not UTF-8 text', 'iconv')
    expectFailure(await send(Buffer.from([0xe2, 0x98])), 2, 'stdin is not UTF-8 text')
    expect(sent()).to.deep.equal([])
  })

  it('is not sent if it contains a NUL, and the error names the position', async () => {
    expectFailure(await send('ab\0c'), 2, 'stdin is not text: it has a NUL character at position 2')
    expect(sent()).to.deep.equal([])
  })

  it('is not sent if it is empty', async () => {
    expectFailure(await send(' \n\t\n'), 2, 'MESSAGE is missing or empty')
    expectFailure(await send('', '-'), 2, 'MESSAGE is missing or empty')
    expect(sent()).to.deep.equal([])
  })

  it('cannot be used for two inputs', async () => {
    const args = ['settings', 'set', 'app_name=-', 'theme.mode=-']
    const refused = await runChatctl(sandbox, args, { env: env(), stdin: 'x' })
    expectFailure(refused, 2, 'stdin was already read, so the value of theme.mode cannot come from it')
    expect(server.requests).to.deep.equal([])
  })
})
