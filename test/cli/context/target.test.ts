import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

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

  for (const args of [
    ['settings', 'set', 'theme.mode=dark'],
    ['settings', 'api', 'set', '--version', 'v2'],
    ['users', 'create', '--email', 'a@b.example', '--generate-password'],
    ['users', 'update', 'usr_admin', '--name', 'x'],
    ['users', 'permissions', 'assign', 'usr_admin', '--role', 'admin'],
    ['users', 'settings', 'set', '--theme', 'dark'],
    ['api', 'PATCH', '/v1/settings', '--data', '{}'],
    ['api', 'DELETE', '/v1/users/x'],
  ])
    it(`must be named for a change in a non-interactive run: ${args.join(' ')}`, async () => {
      for (const env of [{}, { CHATCTL_BASE_URL: '' }])
        expectFailure(
          await runChatctl(sandbox, args, { env }),
          2,
          'No service is selected',
          '--profile local',
        )
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
