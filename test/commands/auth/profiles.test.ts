import { expect } from 'chai'
import { editProfile, findCredentials, readCredential, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../../support/handlers/bearer.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { type Run, type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { signIn, storeKey } from '../../support/sign-in.ts'

const scope = 'chat:read chat:write'

describe('two profiles, one with a token and one with an API key', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(startOidcProvider)
  const service = perSuite(() =>
    startBearerService(async (token) => token === 'key-1' || server.isLive(token)),
  )
  let expiresAt = ''
  before(async () => {
    await signIn(sandbox, { server, service }, ['--scope', scope])
    expiresAt = readCredential(sandbox).expires_at ?? ''
    await storeKey(sandbox, 'key-1', service, 'second')
  })

  const run = (args: string[], options?: RunOptions): Promise<Run> => runChatctl(sandbox, args, options)
  const succeed = async (...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await run(args)
    expect({ exitCode, stderr }, args.join(' ')).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  it('have one row each in auth list', async () => {
    const rows = [
      {
        profile: 'work',
        origin: service.url,
        kind: 'oauth',
        storage: 'file',
        expires_at: expiresAt,
        default: true,
      },
      {
        profile: 'second',
        origin: service.url,
        kind: 'api_key',
        storage: 'file',
        expires_at: null,
        default: false,
      },
    ]
    const fields = ['--fields', 'profile,origin,kind,storage,expires_at,default']
    const [first, ...listed]: Record<string, unknown>[] = JSON.parse(
      await succeed('auth', 'list', ...fields, '--json'),
    )
    expect(first).to.deep.include({ profile: 'local', origin: null, kind: null, default: false })
    expect(listed.sort(byProfile)).to.deep.equal(rows.sort(byProfile))
    expect((await succeed('auth', 'list', '-o', 'tsv')).trimEnd().split('\n').sort()).to.deep.equal([
      'local\t\t\t\t\tfalse',
      ['second', service.url, 'api_key', 'file', '', 'false'].join('\t'),
      ['work', service.url, 'oauth', 'file', expiresAt, 'true'].join('\t'),
    ])
    const table = await succeed('auth', 'list', '-o', 'table')
    for (const word of ['work', 'second', 'oauth', 'api_key']) expect(table).to.contain(word)
  })

  it('are overridden by CHATCTL_API_KEY, as auth status shows', async () => {
    const env = { CHATCTL_API_KEY: 'key-1' }
    const { stdout } = await run(['auth', 'status', '--json'], { env })
    const { credential, kind } = JSON.parse(stdout)
    expect(credential).to.equal('CHATCTL_API_KEY')
    expect(kind).not.to.equal('oauth')
  })

  it('have their secret printed by auth token', async () => {
    expect(await succeed('auth', 'token', '-p', 'second')).to.equal('key-1\n')
    const document = JSON.parse(await succeed('auth', 'token', '-p', 'second', '--json'))
    expect(Object.values(document)).to.include('key-1')
  })

  it('each send their own credential', async () => {
    service.requests.length = 0
    await succeed('chat', 'models')
    await succeed('chat', 'models', '-p', 'second')
    const [token, key] = tokensSeen(service)
    expect(key).to.equal('key-1')
    expect(await server.isLive(token ?? '')).to.equal(true)
  })

  it('cannot be joined by one whose name differs only in case', async () => {
    const words = 'Profile "work" already exists, and "Work" differs only in case'
    const before = readProfiles(sandbox)
    const login = ['auth', 'login', '--with-api-key', '--insecure-storage', '--base-url', service.url]
    expectFailure(await run([...login, '--profile', 'Work'], { stdin: 'key-1\n' }), 2, words)
    expectFailure(await run(['config', 'set', 'model', 'm', '--profile', 'Work']), 2, words)
    for (const args of [
      ['chat', 'models', '--profile', 'Work'],
      ['auth', 'use', 'Work'],
    ]) {
      const unknown = await run(args)
      expectFailure(unknown, 2, 'profile "Work"', 'List the profiles with: chatctl auth list')
      expect(unknown.stderr).not.to.contain('create')
    }
    expect(readProfiles(sandbox)).to.deep.equal(before)
  })
})

function byProfile(a: Record<string, unknown>, b: Record<string, unknown>): number {
  return String(a['profile']).localeCompare(String(b['profile']))
}

describe('a stored credential', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  const other = perTest(() => startBearerService(() => true))
  beforeEach(() => storeKey(sandbox, 'key-1', service))

  it('is not sent to another base_url in an edited profile', async () => {
    editProfile(sandbox, 'work', { base_url: other.url })
    for (const args of [
      ['chat', 'models'],
      ['auth', 'status'],
      ['auth', 'token'],
      ['users', 'profile'],
    ]) {
      const { exitCode, stdout } = await runChatctl(sandbox, args)
      expect({ exitCode, stdout }, args.join(' ')).to.deep.equal({ exitCode: 4, stdout: '' })
    }
    expect(other.requests).to.deep.equal([])
    editProfile(sandbox, 'work', { base_url: service.url })
    expect(await runChatctl(sandbox, ['chat', 'models'])).to.include({ exitCode: 0 })
  })

  it('is not sent to another address in --base-url or the environment', async () => {
    for (const [more, env] of [
      [['--base-url', other.url], {}],
      [['-p', 'work', '--base-url', other.url], {}],
      [[], { CHATCTL_BASE_URL: other.url }],
    ] as const)
      expectFailure(await runChatctl(sandbox, ['chat', 'models', ...more], { env }), 4)
    expect(other.requests).to.deep.equal([])
  })

  it('is kept when another profile of the same service signs out', async () => {
    await storeKey(sandbox, 'key-2', service, 'second')
    await runChatctl(sandbox, ['auth', 'logout', '-p', 'second'])
    expect(findCredentials(sandbox)).to.have.length(1)
    expect((await runChatctl(sandbox, ['auth', 'token'])).stdout).to.equal('key-1\n')
  })
})
