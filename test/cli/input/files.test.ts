import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { conversionHint } from '../../../src/contract/notation/text.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { SettingsHandler } from '../../support/handlers/settings.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, serveHandler, startScriptedServer } from '../../support/scripted-server.ts'
import { servedMessages } from '../../support/served-messages.ts'

type Fault = [name: string, content: string | Uint8Array, ...words: string[]]

const bomb = ['xa', 'ab', 'bc', 'cd', 'de', 'ef']
  .map(
    ([last, name]) =>
      `${name}: &${name} [${Array(9)
        .fill(name === 'a' ? 'x' : `*${last}`)
        .join(', ')}]`,
  )
  .join('\n')

describe('an input file', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startScriptedServer(json(200, {})))
  before(() => mkdirSync(join(sandbox.home, 'directory')))
  beforeEach(() => {
    server.requests.length = 0
  })

  const write = (name: string, content: string | Uint8Array) =>
    writeFileSync(join(sandbox.home, name), content)
  const run = (args: string[], stdin = '') => runChatctl(sandbox, args, { service: server, stdin })
  const sent = () => server.requests.map(({ body }) => JSON.parse(body))

  for (const line of [
    ...['chat complete hi --messages FILE', 'settings api set --file FILE', 'settings set app_name=@FILE'],
    ...['users create --password-file FILE', 'api POST /v1/users --data @FILE'],
  ])
    it(`is rejected with the system error or the invalid character: ${line}`, async () => {
      const naming = (path: string) => line.replace('FILE', path).split(' ')
      expectFailure(await run(naming('nowhere')), 2, 'Cannot read nowhere: no such file')
      expectFailure(await run(naming('directory')), 2, 'Cannot read directory: ', 'directory (EISDIR)')
      write('latin1', Buffer.from('caf\xe9', 'latin1'))
      expectFailure(await run(naming('latin1')), 2, 'latin1 is not UTF-8 text')
      write('nul', 'a\0b')
      expectFailure(await run(naming('nul')), 2, 'nul is not text: it has a NUL character at position 1')
      expect(server.requests).to.deep.equal([])
    })

  describe('for --messages', () => {
    const message = { role: 'user', content: 'Hello' }
    for (const [name, content] of [
      ['good.json', JSON.stringify([message])],
      ['wrapped.json', JSON.stringify({ messages: [message] })],
      ['good.yaml', '- role: user\n  content: Hello\n'],
      ['good.jsonl', `${JSON.stringify(message)}\r\n\n`],
    ] as const)
      it(`can be ${name}`, async () => {
        write(name, content)
        await run(['chat', 'complete', '--messages', name])
        expect(sent()).to.deep.equal([{ messages: [message] }])
      })

    it('can be stdin', async () => {
      await run(['chat', 'complete', '--messages', '-'], JSON.stringify([message]))
      expect(sent()).to.deep.equal([{ messages: [message] }])
    })

    const faults: Fault[] = [
      ['cut.json', '[{"role":"user","content":', 'cut.json: Unexpected end of JSON input'],
      ['text.json', '"Hello"', 'the messages must be an array'],
      ['role.json', '[{"role":"robot","content":"x"}]', 'role of message 1 must be one of system, user'],
      [
        'less.json',
        '[{"role":"user","content":""},{"role":"user"}]',
        'content of message 2 must be a string',
      ],
      ['more.json', '[{"role":"user","content":"x","nmae":"y"}]', 'nmae of message 1 is not a known field'],
      ['indent.yaml', '- role: user\n content: x\n', 'indent.yaml:2:1: ', 'Sequence item without'],
      ['cut.jsonl', '{"role":"user","content":"x"}\n\n{"role":\n', 'cut.jsonl: line 3: '],
      ['role.jsonl', '{"role":"user","content":""}\n\n{"role":"bot"}', 'role of line 3 must be one of'],
    ]
    for (const [name, content, ...words] of faults)
      it(`is rejected with the location of the fault: ${name}`, async () => {
        write(name, content)
        expectFailure(await run(['chat', 'complete', 'hi', '--messages', name]), 2, ...words)
        expect(server.requests).to.deep.equal([])
      })

    it('lists every fault in the JSON error', async () => {
      write('faults.json', '[{"role":"robot"}]')
      const { stderr } = await run(['chat', 'complete', '--messages', 'faults.json', '--json'])
      const paths = JSON.parse(stderr).error.details.faults.map(({ path }: { path: string }) => path)
      expect(paths).to.deep.equal(['0.role', '0.content'])
    })
  })

  describe('for settings api set --file', () => {
    it('can hold part of the configuration, and flags override it', async () => {
      write('api.yaml', 'version: v1\nrate_limiting:\n  enabled: true\n  requests_per_minute: 60\n')
      await run(['settings', 'api', 'set', '--file', 'api.yaml', '--rate-limiting', 'off'])
      expect(sent()).to.deep.equal([
        { version: 'v1', rate_limiting: { enabled: false, requests_per_minute: 60 } },
      ])
    })

    const faults: Fault[] = [
      ['list.yaml', '[1, 2]', 'list.yaml must contain an object'],
      ['number.yaml', 'version: 3', 'version must be a string'],
      ['typo.yaml', 'cros: {}', 'cros is not a known field'],
      ['bomb.yaml', bomb, 'bomb.yaml:1:26: the file has more than 200000 values'],
    ]
    for (const [name, content, ...words] of faults)
      it(`is rejected with the location of the fault: ${name}`, async () => {
        write(name, content)
        const args = ['settings', 'api', 'set', '--file', name, '--rate-limiting', 'on']
        expectFailure(await run(args), 2, ...words)
        expect(server.requests).to.deep.equal([])
      })
  })

  describe('for a password', () => {
    it('loses one trailing line break and nothing else', async () => {
      write('password', ' p\u00e4ss word \n\n')
      await run(['users', 'create', '--password-file', 'password'])
      expect(sent()).to.deep.equal([{ password: ' p\u00e4ss word \n' }])
    })

    it('is rejected if it is empty', async () => {
      write('empty', '\n')
      expectFailure(await run(['users', 'create', '--password-file', 'empty']), 2, 'The password is empty')
      expectFailure(await run(['users', 'create', '--password-stdin'], '\n'), 2, 'The password is empty')
      expect(server.requests).to.deep.equal([])
    })
  })

  it('sets the value of a setting with @, and @@ starts a literal @', async () => {
    write('name', 'Two\nlines\n')
    await using keeping = await serveHandler(new SettingsHandler())
    for (const [word, name] of [
      ['app_name=@name', 'Two\nlines'],
      ['app_name=@@name', '@name'],
      ['app_name=-', 'piped'],
    ] as const) {
      await runChatctl(sandbox, ['settings', 'set', word], { service: keeping, stdin: 'piped\n' })
      expect(keeping.settings['app_name']).to.equal(name)
    }
  })

  it('is the request body of api with --data @FILE', async () => {
    write('body.json', '{"email":"a@b.c"}')
    await run(['api', 'POST', '/v1/users', '--data', '@body.json'])
    expect(sent()).to.deep.equal([{ email: 'a@b.c' }])
    write('cut.json', '{"email"')
    const refused = await run(['api', 'POST', '/v1/users', '--data', '@cut.json'])
    expectFailure(refused, 2, 'The request body is not valid JSON', 'position')
    expect(server.requests).to.have.length(1)
  })
})

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

  it('is not sent if it is empty, or not valid UTF-8, or if it contains a NUL, whose position the error names', async () => {
    expectFailure(await send(' \n\t\n'), 2, 'MESSAGE is missing or empty')
    expectFailure(await send('', '-'), 2, 'MESSAGE is missing or empty')
    expectFailure(await send(Buffer.from('caf\xe9', 'latin1')), 2, 'stdin is not UTF-8 text', 'iconv')
    expectFailure(await send(Buffer.from([0xe2, 0x98])), 2, 'stdin is not UTF-8 text')
    expectFailure(await send('ab\0c'), 2, 'stdin is not text: it has a NUL character at position 2')
    expect(sent()).to.deep.equal([])
  })

  it('cannot be used for two inputs', async () => {
    const args = ['settings', 'set', 'app_name=-', 'theme.mode=-']
    const refused = await runChatctl(sandbox, args, { env: env(), stdin: 'x' })
    expectFailure(refused, 2, 'stdin was already read, so the value of theme.mode cannot come from it')
    expect(server.requests).to.deep.equal([])
  })
})

const text = 'email,password\nada@example.com,pässword\n'
const utf16 = Buffer.from(text, 'utf16le')

describe('a file in another encoding', () => {
  const sandbox = perSuite(createSandbox)

  // Each command reads one encoding, because all commands decode with the same code.
  const files: [encoding: string, bytes: Buffer, line: string][] = [
    ['UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]), 'users import a.csv'],
    [
      'UTF-16',
      Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(utf16).swap16()]),
      'settings api set --file a.yaml',
    ],
    ['UTF-16LE', utf16, 'settings apply a.yaml --yes'],
    ['UTF-16BE', Buffer.from(utf16).swap16(), 'chat complete --messages a.yaml'],
    ['WINDOWS-1252', Buffer.from(text, 'latin1'), 'users permissions assign --file a.csv'],
  ]
  for (const [encoding, bytes, line] of files)
    it(`is rejected with the conversion command: ${encoding}, starting with ${bytes.toString('hex', 0, 2)}`, async () => {
      const [file = ''] = /a\.\w+/.exec(line) ?? []
      writeFileSync(join(sandbox.home, file), bytes)
      const { exitCode, stderr } = await runChatctl(sandbox, `${line} -p local`.split(' '))
      expect(exitCode, stderr).to.equal(2)
      if (encoding.startsWith('UTF')) expect(stderr).to.contain(`${file} is ${encoding} text, not UTF-8`)
      const [command = ''] = /iconv -f .*/.exec(stderr) ?? []
      expect(command).to.equal(`iconv -f ${encoding} -t UTF-8 ${file}`)
      expect(execFileSync(command, { shell: true, cwd: sandbox.home, encoding: 'utf8' })).to.equal(text)
    })

  it('is rejected with the advice to save it as UTF-8 on Windows, which has no iconv', () => {
    for (const [, bytes] of files)
      expect(conversionHint(bytes, 'users.csv', 'win32')).to.match(/Save .* UTF-8/)
  })
})
