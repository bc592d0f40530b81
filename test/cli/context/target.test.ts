import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { sendJson, startModelServer } from '../../support/model-server.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  failing,
  garbage,
  html502,
  json,
  limited,
  reset,
  sse,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('the target of a command', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startScriptedServer(json(200, { data: [] })))
  beforeEach(() => {
    server.requests.length = 0
  })
  afterEach(() => {
    expect(existsSync(join(sandbox.home, '.local')), 'the embedded service was started').to.equal(false)
  })

  const models = (env: NodeJS.ProcessEnv, ...flags: string[]) =>
    runChatctl(sandbox, ['chat', 'models', ...flags], { env })
  const remote = (env: NodeJS.ProcessEnv) => models({ CHATCTL_BASE_URL: server.url, ...env })
  const keyFile = (content: string | Uint8Array) => {
    const path = join(sandbox.home, 'key')
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }

  it('is rejected with exit 4 for a base URL without a key', async () => {
    for (const env of [{}, { CHATCTL_API_KEY: '' }, { CHATCTL_API_KEY: '  \n ' }])
      expectFailure(await remote(env), 4, `No API key for ${server.url}`, 'CHATCTL_API_KEY')
    expect(server.requests).to.deep.equal([])
  })

  for (const [title, key] of [
    ['a line break', 'canary\nX-Header: y'],
    ['a control character', 'canary\u0007'],
    ['a character that a header cannot contain', 'canary☃'],
  ] as const)
    it(`is rejected with exit 2 for a key with ${title}, which is neither printed nor sent`, async () => {
      for (const env of [{ CHATCTL_API_KEY: key }, { CHATCTL_API_KEY_FILE: keyFile(key) }]) {
        const run = await remote(env)
        expectFailure(run, 2, 'The API key or token contains')
        expect(run.stderr).not.to.contain('canary')
      }
      expect(server.requests).to.deep.equal([])
    })

  it('is rejected with exit 4 for an unusable key file, which the error names', async () => {
    const directory = join(sandbox.home, 'directory')
    mkdirSync(directory)
    for (const [path, words] of [
      [join(sandbox.home, 'nowhere'), 'nowhere: no such file'],
      [directory, /Cannot read .*directory:/],
      [keyFile('\n'), 'key is empty'],
    ] as const)
      expectFailure(await remote({ CHATCTL_API_KEY_FILE: path }), 4, 'CHATCTL_API_KEY_FILE', words)
    expect(server.requests).to.deep.equal([])
  })

  it('is rejected with exit 2 for a key without a base URL or a profile', async () => {
    for (const env of [{ CHATCTL_API_KEY: 'k' }, { CHATCTL_API_KEY_FILE: keyFile('k') }])
      expectFailure(await models(env), 2, 'no service is selected', '--base-url', '--profile')
  })

  for (const [address, ...words] of [
    ['http://chat.example', 'would send the credential unencrypted', 'Use https://chat.example'],
    ['http://127.0.0.1.chat.example', 'unencrypted'],
    ['http://0.0.0.0:1', 'unencrypted'],
    ['https://user:canary@chat.example', 'contains a user name or password'],
    ['https://chat.example/?a=canary', 'a query or a fragment'],
    ['https://chat.example/#canary', 'a query or a fragment'],
    ['ftp://chat.example', 'must begin with https://'],
    ['chat.example', 'is not a URL'],
    ['//chat.example', 'is not a URL'],
    [' ', 'must not be empty'],
  ] as [string, ...string[]][])
    it(`is rejected with exit 2 for the base URL ${address}, with and without a key`, async () => {
      for (const env of [{}, { CHATCTL_API_KEY: 'test-key' }]) {
        const byFlag = await models(env, '--base-url', address)
        expectFailure(byFlag, 2, '--base-url: ', ...words)
        expect(byFlag.stderr).not.to.contain('canary')
        if (address.trim() === '') continue
        expectFailure(await models({ ...env, CHATCTL_BASE_URL: address }), 2, 'CHATCTL_BASE_URL: ', ...words)
      }
    })

  it('is never the embedded service if a base URL is given, even with -p local', async () => {
    const key = { CHATCTL_API_KEY: 'test-key' }
    await models(key, '--base-url', server.url)
    await models({ ...key, CHATCTL_BASE_URL: server.url })
    expect(server.requests).to.have.length(2)
    const contradictions = [
      await models({ ...key, CHATCTL_BASE_URL: server.url }, '--profile', 'local'),
      await models({ ...key, CHATCTL_BASE_URL: server.url, CHATCTL_PROFILE: 'local' }),
      await models(key, '--profile', 'local', '--base-url', server.url),
    ]
    for (const run of contradictions) expectFailure(run, 2, 'selects the embedded service', 'another')
    expect(server.requests).to.have.length(2)
  })

  for (const line of [
    'settings set theme.mode=dark',
    'settings api set --version v2',
    'users create --email a@b.example --generate-password',
    'users update usr_admin --name x',
    'users permissions assign usr_admin --role admin',
    'users settings set --theme dark',
    'api PATCH /v1/settings --data {}',
    'api DELETE /v1/users/x',
  ])
    it(`must be named for a change in a non-interactive run: ${line}`, async () => {
      for (const env of [{}, { CHATCTL_BASE_URL: '' }]) {
        const run = await runChatctl(sandbox, line.split(' '), { env })
        expectFailure(run, 2, 'No service is selected', '--profile local')
      }
    })
})

describe('the embedded service', () => {
  const sandbox = perSuite(createSandbox)

  it('can be changed in a non-interactive run with -p local, even with an unusable key file', async () => {
    const args = ['settings', 'set', 'theme.mode=dark', '-p', 'local', '--json']
    const run = await runChatctl(sandbox, args, { env: { CHATCTL_API_KEY_FILE: '/nowhere' } })
    expect(run.exitCode).to.equal(0)
    expect(JSON.parse(run.stdout).theme.mode).to.equal('dark')
  })
})

describe('the precedence of options', () => {
  const home = perSuite(createSandbox)
  before(() => {
    mkdirSync(join(home.home, '.config', 'chatctl'), { recursive: true })
    const configuration = {
      default_profile: 'work',
      profiles: { work: { ...work, output: 'json' }, other: {} },
    }
    writeFileSync(join(home.home, '.config', 'chatctl', 'config.json'), JSON.stringify(configuration))
  })
  const work = {
    ...{ base_url: 'https://profile.example', auth_url: 'https://auth-profile.example' },
    ...{ client_id: 'profile-client', model: 'profile-model' },
    ...{ timeout: '11s', retries: '5', max_wait: '12s' },
  }

  const rows = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const { stdout, stderr } = await runChatctl(home, ['config', 'list', '-o', 'tsv', ...args], { env })
    expect(stderr).to.equal('')
    const lines = stdout.replace(/\n$/, '').split('\n')
    return Object.fromEntries(lines.map((line) => line.split('\t')).map(([key, ...rest]) => [key, rest]))
  }

  it('uses the default if nothing else is set', async () =>
    expect(await rows(['-p', 'other'])).to.deep.include({
      profile: ['other', 'flag', '--profile'],
      base_url: ['', 'default', ''],
      timeout: ['60s', 'default', ''],
      retries: ['2', 'default', ''],
      max_wait: ['60s', 'default', ''],
      notify: ['on', 'default', ''],
      model: ['', 'default', ''],
    }))

  it('prefers the profile to the default', async () => {
    const list = await rows([])
    for (const [key, value] of Object.entries(work))
      expect(list[key]).to.deep.equal([value, 'profile', 'profile work'])
  })

  const variables: Record<string, string> = {
    ...{ base_url: 'https://variable.example', auth_url: 'https://auth-variable.example' },
    ...{ client_id: 'variable-client', model: 'variable-model' },
    ...{ timeout: '21s', retries: '6', max_wait: '22s' },
  }
  const variableOf = (key: string) => `CHATCTL_${key.toUpperCase()}`
  const env = Object.fromEntries(Object.entries(variables).map(([key, value]) => [variableOf(key), value]))

  it('prefers the environment to the profile', async () => {
    const list = await rows(['-p', 'work'], env)
    for (const [key, value] of Object.entries(variables))
      expect(list[key]).to.deep.equal([value, 'environment', variableOf(key)])
  })

  it('prefers a flag to the environment', async () => {
    const flags = { base_url: 'https://flag.example', timeout: '31s', retries: '7', max_wait: '32s' }
    const args = Object.entries(flags).flatMap(([key, value]) => [`--${key.replaceAll('_', '-')}`, value])
    const list = await rows(args, env)
    for (const [key, value] of Object.entries(flags))
      expect(list[key]).to.deep.equal([value, 'flag', `--${key.replaceAll('_', '-')}`])
  })

  it('ignores the default profile if a flag gives a base URL', async () =>
    expect(await rows(['--base-url', 'https://flag.example'])).to.deep.include({
      timeout: ['60s', 'default', ''],
      profile: ['', 'default', ''],
    }))

  it('applies to the output format too', async () => {
    const show = async (args: string[], env: NodeJS.ProcessEnv = {}) =>
      (await runChatctl(home, ['config', 'list', ...args], { env })).stdout
    expect(await show([])).to.match(/^\[/)
    expect(await show([], { CHATCTL_OUTPUT: 'csv' })).to.match(/^key,value,source,from\n/)
    expect(await show(['-o', 'yaml'], { CHATCTL_OUTPUT: 'csv' })).to.match(/^- key: /)
    expect(await show(['--json'], { CHATCTL_OUTPUT: 'csv' })).to.match(/^\[/)
    expect(await show([], { CHATCTL_OUTPUT: 'markdown' })).to.match(/^profile\twork\t/)
    expect(await show([], { CHATCTL_OUTPUT: 'md' })).to.match(/^profile\twork\t/)
    expect(await show(['-o', 'csv'], { CHATCTL_JSON: '1' })).to.match(/^key,/)
  })

  it('turns a flag without a value on and off', async () => {
    const isJson = async (value: string): Promise<boolean> => {
      const env = { CHATCTL_JSON: value }
      return (await runChatctl(home, ['config', 'list', '-p', 'other'], { env })).stdout.startsWith('[')
    }
    for (const word of ['1', 'true', 'ON', 'yes', 'y']) expect(await isJson(word), word).to.equal(true)
    for (const word of ['', '0', 'false', 'Off', 'no', 'n']) expect(await isJson(word), word).to.equal(false)
  })

  for (const name of ['CHATCTL_JSON', 'CHATCTL_QUIET', 'CHATCTL_DRY_RUN'])
    it(`refuses an unknown word in ${name}`, async () => {
      const args = ['config', 'set', 'model', 'm', '-p', 'other']
      expect(await runChatctl(home, args, { env: { [name]: 'ja' } })).to.deep.equal({
        exitCode: 2,
        stdout: '',
        stderr: `Error: ${name}: "ja" is not 1, 0, true, false, on, off, yes, or no\n`,
      })
      expect((await rows(['-p', 'other']))['model']?.[1]).to.equal('default')
    })
})

describe('chatctl with defaults', () => {
  const sandbox = perTest(createSandbox)

  const local = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  async function remote(behavior: Behavior, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
    await using server = await startScriptedServer(behavior)
    const own = { CHATCTL_BASE_URL: `${server.url}/prefix`, CHATCTL_API_KEY: 'test-key', ...env }
    return await runChatctl(sandbox, args, { env: own })
  }

  it('chat send --continue continues the last embedded conversation, with or without -p local', async () => {
    const first = JSON.parse((await local('chat', 'send', 'a', '--json', '-p', 'local')).stdout)
    const second = JSON.parse((await local('chat', 'send', 'b', '--json')).stdout)
    expect(second.context_id).not.to.equal(first.context_id)
    const third = JSON.parse((await local('chat', 'send', 'c', '--json', '--continue', '-p', 'local')).stdout)
    expect(third.context_id).to.equal(second.context_id)
  })

  it('users create checks for a credential before it prompts for a password', async () => {
    const args = 'users create --email a@example.com --base-url http://127.0.0.1:1'.split(' ')
    expectFailure(await local(...args), 4)
  })

  it('--jq overrides CHATCTL_OUTPUT=yaml, but conflicts with -o yaml', async () => {
    const models = json(200, { data: [{ id: 'm' }] })
    const env = { CHATCTL_OUTPUT: 'yaml' }
    expect((await remote(models, ['chat', 'models', '--jq', '.data[0].id'], env)).stdout).to.equal('m\n')
    expect((await remote(models, ['chat', 'models', '--jq', '.', '-o', 'yaml'])).exitCode).to.equal(2)
  })

  it('api rejects --include with an output format before it sends anything', async () => {
    await using server = await startScriptedServer(json(200, { a: 1 }))
    for (const [more, env] of [
      [['--json'], {}],
      [['--jq', '.a'], {}],
      [['-o', 'yaml'], {}],
      [[], { CHATCTL_OUTPUT: 'json' }],
    ] as const) {
      const run = await runChatctl(sandbox, ['api', '/v1/x', '--include', ...more], { service: server, env })
      expect(run, run.stderr).to.include({ exitCode: 2, stdout: '' })
      expect(run.stderr).to.contain('--include prints headers as text')
    }
    expect(server.requests).to.deep.equal([])
  })

  it('settings get exits 1 for a setting that the response lacks', async () => {
    const left = await remote(json(200, { app_name: 'a' }), ['settings', 'get', 'limits.max_tokens'])
    expectFailure(left, 1, 'does not contain limits.max_tokens')
  })
})

describe('the model server of the embedded service', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => startModelServer())
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => runChatctl(sandbox, args, { env })
  const use = () => run(['config', 'set', 'model_server', server.url])

  it('replies to chat send, chat complete, and chat models', async () => {
    await use()
    expect((await run(['chat', 'send', 'hi'])).stdout).to.equal('I am m1.\n')
    expect((await run(['chat', 'send', 'hi', '--model', 'm2'])).stdout).to.equal('I am m2.\n')
    expect((await run(['chat', 'complete', 'hi'])).stdout).to.equal('I am m1.\n')
    expect((await run(['chat', 'models', '--fields', 'id'])).stdout).to.equal('m1\nm2\nm3\n')
  })

  it('gets its key, which no model server of the environment gets', async () => {
    writeFileSync(join(sandbox.home, 'up.key'), 'sk-canary\n', { mode: 0o600 })
    await use()
    await run(['config', 'set', 'model_server_key_file', 'up.key'])
    await run(['chat', 'models'])
    expect(server.requests.at(-1)?.headers.authorization).to.equal('Bearer sk-canary')
    await using other = await startModelServer()
    await run(['chat', 'send', 'hi'], { CHATCTL_MODEL_SERVER: other.url })
    expect(other.requests.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, undefined])
  })

  it('is named with the exact command in the reply of the test program', async () => {
    const { stdout } = await run(['chat', 'send', 'hi'])
    expect(stdout).to.include('run: chatctl config set model_server=ollama\n')
  })

  it('replies to a completion that continues a conversation with the test program', async () => {
    await run(['chat', 'send', 'hi', '--system', 'Be brief.'])
    await use()
    expect((await run(['chat', 'send', '--continue', 'more'])).stdout).to.equal('I am m1.\n')
  })

  it('that has ended is an error that names its address and what to do', async () => {
    await use()
    await server.close()
    const words = `Cannot reach the model server ${server.url}: connection refused`
    const hint = 'Start the model server, or stop using it with: chatctl config unset model_server'
    for (const line of ['chat send hi', 'chat complete hi', 'chat models --retries 0'])
      expectFailure(await run(line.split(' ')), 69, words, hint)
    const failed = await run(['chat', 'send', 'hi'], { CHATCTL_MODEL_SERVER: server.url })
    expectFailure(failed, 69, 'Start the model server, or unset CHATCTL_MODEL_SERVER')
    expect((await run(['settings', 'get'])).exitCode).to.equal(0)
  })

  for (const [what, behavior, words] of [
    ['500', failing(500, 'x', 'Out of memory'), 'returned 500'],
    ['429', limited(), 'is overloaded'],
    ['502 with a web page', html502, 'returned 502'],
    ['invalid JSON', garbage, 'not JSON'],
    ['a reset', reset, 'No response from the model server'],
    ['a reply that ends immediately', sse([], { done: false }), /ended|not JSON/],
  ] as const)
    it(`that fails with ${what} leaves nothing unknown, and no code is shown to people`, async () => {
      const models = json(200, { object: 'list', data: [{ id: 'm1' }] })
      await using faulty = await startScriptedServer((request, ...more) =>
        (request.path.endsWith('/models') ? models : behavior)(request, ...more),
      )
      for (const flags of [[], ['--stream'], ['--no-stream']]) {
        const env = { CHATCTL_MODEL_SERVER: faulty.url }
        const failed = await run(['chat', 'send', 'hi', ...flags], env)
        expectFailure(failed, 69, words)
        expect(failed.stderr).to.not.match(/may have taken effect|UND_ERR|ECONNRESET/)
      }
      expect(JSON.parse((await run(['history', 'list', '--json'])).stdout).messages).to.deep.equal([])
    })

  it('that lacks the model is an error with the command that lists the models', async () => {
    await use()
    const failed = await run(['chat', 'send', 'hi', '--model', 'm9'])
    expectFailure(failed, 6, 'No model m9', 'List the models with: chatctl chat models')
  })

  it('that does not take the limit of the settings gets another request, and replies', async () => {
    for (const message of ["Use 'max_completion_tokens' instead", 'max_tokens is too large: 4096']) {
      await using picky = await startModelServer({
        complete: (response, { body }) =>
          JSON.parse(body).max_tokens
            ? sendJson(response, { error: { message } }, 400)
            : sendJson(response, { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }),
      })
      for (const words of [['send'], ['send', '--no-stream'], ['complete', '--model', 'm2']]) {
        const { stdout, stderr } = await run(['chat', ...words, 'x'], { CHATCTL_MODEL_SERVER: picky.url })
        expect([stdout, stderr.includes('Error')], message).to.deep.equal(['Hi\n', false])
      }
      const sent = picky.requestsOf('/v1/chat/completions').map(({ body }) => JSON.parse(body))
      expect(sent.map(({ max_completion_tokens: most }) => most)).to.include(
        message.startsWith('Use') ? 4096 : undefined,
      )
    }
  })

  it('without its /v1 is an error that says so', async () => {
    await run(['config', 'set', 'model_server', server.url.replace('/v1', '')])
    for (const words of [[], ['--model', 'm9'], ['--model', 'm9', '--no-stream']])
      expectFailure(
        await run(['chat', 'send', 'hi', ...words]),
        69,
        ...['returned 404', '"no such path"', 'need /v1 at the end'],
      )
  })

  it('with a key file that does not exist is an error that names the file', async () => {
    await use()
    await run(['config', 'set', 'model_server_key_file', 'gone.key'])
    expectFailure(await run(['chat', 'send', 'hi']), 2, join(sandbox.home, 'gone.key'))
  })
})
