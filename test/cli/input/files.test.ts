import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { SettingsHandler } from '../../support/handlers/settings.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, serveHandler, startScriptedServer } from '../../support/scripted-server.ts'

type Fault = [name: string, content: string | Uint8Array, ...words: string[]]

const bomb = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...['ab', 'bc', 'cd', 'de', 'ef'].map(
    ([last, name]) => `${name}: &${name} [${Array(9).fill(`*${last}`).join(', ')}]`,
  ),
].join('\n')

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

  for (const args of [
    ['chat', 'complete', 'hi', '--messages'],
    ['settings', 'api', 'set', '--file'],
    ['users', 'create', '--password-file'],
    ['settings', 'set', 'app_name=@'],
    ['api', 'POST', '/v1/users', '--data', '@'],
  ])
    it(`is rejected with the system error or the invalid character: ${args.join(' ')}`, async () => {
      const naming = (path: string) =>
        args.at(-1)?.endsWith('@') ? [...args.slice(0, -1), `${args.at(-1)}${path}`] : [...args, path]
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
        '[{"role":"user","content":"x"},{"role":"user"}]',
        'content of message 2 must be a string',
      ],
      ['more.json', '[{"role":"user","content":"x","nmae":"y"}]', 'nmae of message 1 is not a known field'],
      ['indent.yaml', '- role: user\n content: x\n', 'indent.yaml:2:1: ', 'Sequence item without'],
      ['cut.jsonl', '{"role":"user","content":"x"}\n\n{"role":\n', 'cut.jsonl: line 3: '],
      [
        'role.jsonl',
        '{"role":"user","content":"x"}\n\n{"role":"bot","content":""}',
        'role of line 3 must be one of',
      ],
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

    it('is required, and the exit 3 error names the flags that read it', async () => {
      const refused = await run(['users', 'create'])
      expectFailure(refused, 3, '--password-stdin, --password-file, --generate-password, or')
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
