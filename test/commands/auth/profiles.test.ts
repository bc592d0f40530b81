import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import {
  editProfile,
  expireCredential,
  findCredentials,
  readCredential,
  readProfiles,
} from '../../support/credential-files.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../../support/handlers/bearer.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type HostOptions, type Run, type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { delayed, json, startScriptedServer } from '../../support/scripted-server.ts'
import { signIn, storeKey } from '../../support/sign-in.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

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
    const common = { origin: service.url, storage: 'file' }
    const fields = ['--fields', 'profile,origin,kind,storage,expires_at,default']
    const listed = JSON.parse(await succeed('auth', 'list', ...fields, '--json'))
    expect(listed[0]).to.deep.include({ profile: 'local', origin: null, kind: null, default: false })
    expect(listed.slice(1)).to.have.deep.members([
      { ...common, profile: 'second', kind: 'api_key', expires_at: null, default: false },
      { ...common, profile: 'work', kind: 'oauth', expires_at: expiresAt, default: true },
    ])
    expect((await succeed('auth', 'list', '-o', 'tsv')).trimEnd().split('\n').sort()).to.deep.equal([
      'local\t\t\t\t\tfalse',
      `second\t${service.url}\tapi_key\tfile\t\tfalse`,
      `work\t${service.url}\toauth\tfile\t${expiresAt}\ttrue`,
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
    for (const line of ['chat models --profile Work', 'auth use Work']) {
      const unknown = await run(line.split(' '))
      expectFailure(unknown, 2, 'profile "Work"', 'List the profiles with: chatctl auth list')
      expect(unknown.stderr).not.to.contain('create')
    }
    expect(readProfiles(sandbox)).to.deep.equal(before)
  })
})

describe('a stored credential', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  const other = perTest(() => startBearerService(() => true))
  beforeEach(() => storeKey(sandbox, 'key-1', service))

  it('is not sent to another base_url in an edited profile', async () => {
    editProfile(sandbox, 'work', { base_url: other.url })
    for (const line of ['chat models', 'auth status', 'auth token', 'users profile'])
      expectFailure(await runChatctl(sandbox, line.split(' ')), 4)
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

describe('a profile that is signed in to one address and has moved to another', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => server.live.has(token)))
  const other = perTest(() => startBearerService((token) => token === 'key-1'))
  beforeEach(() => plantSignIn(sandbox, { server, service }))

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  it('keeps only the new sign-in, also if the old token is being renewed', async () => {
    expireCredential(sandbox)
    server.script.token = [delayed(500, server.tokens())]
    const renewing = run('chat', 'models')
    while (server.refreshes().length === 0) await sleep(10)
    await storeKey(sandbox, 'key-1', other)
    expect(await renewing).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.have.length(1)
    expect(readCredential(sandbox)).to.include({ kind: 'api_key', key: 'key-1' })
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(tokensSeen(other)).to.deep.equal(['key-1', 'key-1'])
  })

  it('is not used with --base-url of another address, and the hint names a separate profile', async () => {
    const failed = await run('chat', 'models', '-p', 'work', '--base-url', other.url)
    expectFailure(failed, 4, 'has another base URL', other.url)
    expect(failed.stderr).to.match(/^Hint: .*a new profile: .*--profile NAME --base-url http/m)
    expect(failed.stderr, 'which would end the first').not.to.contain('--profile work')
    expect([other.requests, service.requests, server.tokenRequests]).to.deep.equal([[], [], []])
  })

  it('can sign out of the old address with the command that config set base_url prints', async () => {
    const set = await run('config', 'set', 'base_url', other.url, '-p', 'work')
    expect(set.exitCode).to.equal(0)
    const words = ['auth', 'logout', '--profile', 'work', '--base-url', service.url]
    expect(set.stderr).to.contain(`chatctl ${words.join(' ')}`)
    expectSignedOut(await run(...words, '--json'))
    expect(readProfiles(sandbox).profiles?.['work']).not.to.have.property('credential')
  })

  const expectSignedOut = (logout: Run) => {
    const { stdout, stderr } = expectSuccess(logout)
    const row = { profile: 'work', origin: service.url, signed_out: true, revoked: true }
    expect(JSON.parse(stdout)).to.deep.include(row)
    expect(stderr).not.to.contain('was not signed in')
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(server.revocations[0]?.get('token')).to.equal('refresh-token-1')
  }

  for (const [what, move] of [
    ['config set base_url', () => run('config', 'set', 'base_url', other.url, '-p', 'work')],
    ['config unset base_url', () => run('config', 'unset', 'base_url', '-p', 'work')],
    ['an editor', async () => editProfile(sandbox, 'work', { base_url: other.url })],
  ] as const) {
    for (const flags of ['-p work', '--all --yes'])
      it(`is signed out of the old address by auth logout ${flags} after ${what}`, async () => {
        await move()
        expectSignedOut(await run('auth', 'logout', ...flags.split(' '), '--json'))
      })
  }

  it('can sign out of the old address if its new address is invalid', async () => {
    editProfile(sandbox, 'work', { base_url: 'invalid' })
    expect(await run('auth', 'logout', '-p', 'work', '--base-url', service.url)).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  it('has its old token revoked by a sign-in to the new address', async () => {
    await storeKey(sandbox, 'key-1', other)
    expect(server.revocations.map((form) => form.get('token'))).to.deep.equal(['refresh-token-1'])
    const expected = { origin: other.url, storage: 'file' }
    expect(readProfiles(sandbox).profiles?.['work']?.['credential']).to.deep.equal(expected)
  })

  it('is signed out of the old address without signing out another profile', async () => {
    await run('config', 'set', 'base_url', other.url, '-p', 'work')
    const words = ['auth', 'login', '--with-api-key', '-p', 'second', '--base-url', other.url]
    await runChatctl(sandbox, [...words, '--insecure-storage'], { stdin: 'key-1\n' })
    await run('auth', 'logout', '-p', 'work', '--base-url', service.url)
    expect(readCredential(sandbox)).to.include({ kind: 'api_key', key: 'key-1' })
  })

  it('gets no notice from config set base_url if the origin stays the same', async () => {
    const set = await run('config', 'set', 'base_url', `${service.url}/v2`, '-p', 'work')
    expect(set).to.include({ exitCode: 0, stderr: '' })
  })
})

describe('a directory with a profile', () => {
  const sandbox = perTest(createSandbox)
  let acme = ''
  const run = (args: string[], options: HostOptions = {}) =>
    runChatctl(sandbox, args, { cwd: acme, ...options })
  const profileWith = async (args: string[] = [], options: HostOptions = {}) => {
    const { stdout } = await run(['config', 'list', '-o', 'tsv', ...args], options)
    return stdout.split('\n')[0]?.split('\t').slice(1)
  }

  beforeEach(async () => {
    acme = join(sandbox.home, 'projects', 'acme')
    mkdirSync(join(acme, 'src'), { recursive: true })
    for (const name of ['acme', 'other', 'third'])
      await run(['config', 'set', 'base_url', `https://${name}.example`, '--profile', name])
    await run(['config', 'set', 'default_profile', 'other'])
    const { exitCode, stderr } = await run(['config', 'set', 'directory."~/projects/acme"=acme'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
  })

  it('uses the profile in the directory and everything in it, and the default profile elsewhere', async () => {
    const fromDirectory = ['acme', 'directory', 'the directory ~/projects/acme']
    expect(await profileWith()).to.deep.equal(fromDirectory)
    expect(await profileWith([], { cwd: join(acme, 'src') })).to.deep.equal(fromDirectory)
    expect((await profileWith([], { cwd: sandbox.home }))?.[0]).to.equal('other')
  })

  it('uses the profile of a flag, of the environment, or of no base URL at all instead', async () => {
    const env = { CHATCTL_PROFILE: 'other' }
    expect(await profileWith(['-p', 'third'], { env })).to.deep.equal(['third', 'flag', '--profile'])
    expect(await profileWith([], { env })).to.deep.equal(['other', 'environment', 'CHATCTL_PROFILE'])
    expect((await profileWith(['--base-url', 'https://new.example']))?.[0]).to.equal('')
  })

  it('can be set with two words, with single quotes around the key, and relative to the working directory', async () => {
    await run(['config', 'set', 'directory."~/projects/acme"', 'third'])
    expect((await profileWith())?.[0]).to.equal('third')
    await run(['config', 'set', 'directory..', 'other'])
    expect(readProfiles(sandbox)).to.have.property('directories').deep.equal({ '~/projects/acme': 'other' })
    expect((await run(['config', 'get', `directory.${acme}/`])).stdout.trim()).to.equal('other')
  })

  it('has the default profile again after config unset', async () => {
    await run(['config', 'unset', 'directory.~/projects/acme/'])
    expect((await profileWith())?.[0]).to.equal('other')
  })

  it('is named by auth status, auth list, and auth use', async () => {
    const env = { CHATCTL_API_KEY: 'key' }
    const status = JSON.parse((await run(['auth', 'status', '--no-verify', '--json'], { env })).stdout)
    expect(status).to.include({ profile: 'acme', profile_from: 'the directory ~/projects/acme' })
    const list = await run(['auth', 'list', '--json'])
    const rows: { profile: string; directories: string[] }[] = JSON.parse(list.stdout)
    expect(rows.find(({ profile }) => profile === 'acme')?.directories).to.deep.equal(['~/projects/acme'])
    const words = 'the profile is "acme", because of the directory ~/projects/acme.'
    expect((await run(['auth', 'list'])).stderr).to.contain(words)
    expect((await run(['auth', 'use', 'third'])).stderr).to.contain(words)
  })

  it('is never set by a file in the directory', async () => {
    const files = ['config.json', '.chatctl.json', 'chatctl/config.json', '.config/chatctl/config.json']
    for (const name of files) {
      mkdirSync(join(acme, name, '..'), { recursive: true })
      writeFileSync(join(acme, name), JSON.stringify({ directories: { '~/projects/acme': 'third' } }))
    }
    expect((await profileWith())?.[0]).to.equal('acme')
  })

  it('exits 2 for an unknown profile, for a file, for --profile, and without a path', async () => {
    writeFileSync(join(acme, 'file'), '')
    expectFailure(await run(['config', 'set', 'directory.~/x', 'acm']), 2, 'Unknown profile "acm"')
    expectFailure(await run(['config', 'set', 'directory.file', 'acme']), 2, 'is not a directory')
    expectFailure(await run(['config', 'set', 'directory.', 'acme']), 2, 'is not the path of a directory')
    const refused = await run(['config', 'set', 'directory.~', 'acme', '-p', 'acme'])
    expectFailure(refused, 2, 'belongs to no profile')
    expectFailure(await run(['config', 'set', 'directory.~/x']), 2, 'Missing value')
  })

  it('exits 2 and names the directory if its profile is missing from the file', async () => {
    const path = join(sandbox.home, '.config', 'chatctl', 'config.json')
    writeFileSync(path, JSON.stringify({ directories: { '~/projects': 'gone' } }))
    const refused = await run(['chat', 'models'])
    expectFailure(refused, 2, `${path}, the directory ~/projects: unknown profile "gone"`)
    expect((await run(['config', 'unset', 'directory.~/projects'])).exitCode).to.equal(0)
  })

  it('says if the directory does not exist yet', async () => {
    const { exitCode, stderr } = await run(['config', 'set', 'directory.~/later', 'acme'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '~/later does not exist yet.\n' })
  })

  it('decides the output format of errors in the command line', async () => {
    await run(['config', 'set', 'output', 'json', '-p', 'acme'])
    const { stderr } = await run(['chat', 'models', '--no-such-flag'])
    expect(JSON.parse(stderr)).to.have.nested.property('error.code', 'usage')
  })
})

describe('the expiry of an API key', () => {
  const sandbox = perTest(createSandbox)
  const end = '2027-01-31T00:00:00.000Z'
  let header: string = end
  const service = perTest(() =>
    startScriptedServer((request, response, incoming) => {
      const answer = request.path === '/api/user/profile' ? { id: 'u1' } : { data: [] }
      return json(200, answer, { 'x-credential-expires-at': header })(request, response, incoming)
    }),
  )
  beforeEach(() => {
    header = end
  })

  const run = (args: string[], before: number, options: HostOptions = {}) => {
    const clock = new SteppedClock(undefined, Date.parse(end) - before)
    return runChatctl(sandbox, args, { host: { clock }, ...options })
  }
  const day = 86_400_000

  it('is stored at sign-in, and shown by auth list, auth status, and auth token', async () => {
    await storeKey(sandbox, 'key-1', service)
    expect(readCredential(sandbox)).to.include({ expires_at: end })
    const requests = service.requests.length
    for (const line of ['auth list', 'auth status --no-verify', 'auth token'])
      expect((await run(`${line} --json`.split(' '), 90 * day)).stdout, line).to.contain(`"${end}"`)
    expect(service.requests).to.have.length(requests)
  })

  it('is shown by auth status as the service says now', async () => {
    await storeKey(sandbox, 'key-1', service)
    header = '2028-01-31T00:00:00Z'
    for (const env of [{}, { CHATCTL_API_KEY: 'key-1' }]) {
      const { stdout } = await run(['auth', 'status', '--json'], 90 * day, { env })
      expect(JSON.parse(stdout)).to.include({ expires_at: '2028-01-31T00:00:00.000Z' })
    }
  })

  it('gives one warning within seven days, also for a key in the environment, and none with --quiet', async () => {
    await storeKey(sandbox, 'key-1', service)
    const words = `Warning: The API key expires in 2d 5h, at ${end}.\n`
    expect(await run(['chat', 'models'], 53 * 3_600_000)).to.include({ exitCode: 0, stderr: words })
    const env = { CHATCTL_API_KEY: 'key-1', CHATCTL_BASE_URL: service.url }
    expect((await run(['chat', 'models'], 53 * 3_600_000, { env })).stderr).to.equal(words)
    expect((await run(['chat', 'models', '--quiet'], day)).stderr).to.equal('')
    const { stderr } = await run(['chat', 'models', '--json'], day)
    expect(JSON.parse(stderr)).to.have.nested.property('warning.message')
  })

  it('gives the warning for a credential command, unless it says that it prints an access token', async () => {
    const warn = async (output: string) => {
      const command = `echo '${output}'`
      const login = ['auth', 'login', '--profile', 'work', '--base-url', service.url, '--no-verify']
      await run([...login, '--credential-command', command], day)
      return (await run(['chat', 'models'], day)).stderr
    }
    const words = `Warning: The API key expires in 24h, at ${end}.\n`
    expect(await warn('key-1')).to.equal(words)
    expect(await warn('{"api_key":"key-1"}')).to.equal(words)
    expect(await warn('{"access_token":"key-1"}')).to.equal('')
  })
})

describe('auth rename', () => {
  const { sandbox, server, service } = makeSignInWorld()
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const rename = (...args: string[]) => run('auth', 'rename', ...args)

  beforeEach(() => plantSignIn(sandbox, { server, service }))

  it('keeps the sign-in, and renames the default profile and the directories of the profile', async () => {
    await run('config', 'set', 'directory.~', 'work')
    const before = readCredential(sandbox)
    const { stdout } = await rename('work', 'acme', '--json')
    expect(JSON.parse(stdout)).to.deep.equal({ profile: 'acme', former_name: 'work' })
    expect(readCredential(sandbox)).to.deep.equal(before)
    const { profiles = {}, ...rest } = readProfiles(sandbox)
    expect(rest).to.deep.equal({ default_profile: 'acme', directories: { '~': 'acme' } })
    expect(Object.keys(profiles)).to.deep.equal(['acme'])
    expect(profiles['acme']).to.have.property('id', 'work')
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(server.refreshes()).to.deep.equal([])
  })

  it('exits 2 for local, for an unknown profile, and for a name that exists or is not valid', async () => {
    await run('config', 'set', 'model', 'm', '--profile', 'other')
    expectFailure(await rename('local', 'acme'), 2, 'is the embedded service')
    expectFailure(await rename('worker', 'acme'), 2, 'Unknown profile "worker"')
    for (const name of ['other', 'local', 'work'])
      expectFailure(await rename('work', name), 2, 'already exists')
    // The keychain of Windows ignores case.
    for (const name of ['Other', 'LOCAL'])
      expectFailure(await rename('work', name), 2, `already exists, and "${name}" differs only in case`)
    expectFailure(await rename('work', 'a b'), 2, 'is not a valid profile name')
    expect(Object.keys(readProfiles(sandbox).profiles ?? {})).to.deep.equal(['work', 'other'])
  })

  it('changes only the case of a name', async () => {
    expect(await rename('work', 'Work')).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox)).to.have.nested.property('profiles.Work.id', 'work')
    expect(await run('chat', 'models', '--profile', 'Work')).to.include({ exitCode: 0 })
    expectFailure(await run('config', 'set', 'model', 'm', '--profile', 'work'), 2)
  })

  it('gives a new profile with the former name another credential', async () => {
    await rename('work', 'acme')
    const words = ['auth', 'login', '--with-api-key', '--profile', 'work', '--base-url', service.url]
    await runChatctl(sandbox, [...words, '--insecure-storage', '--no-verify'], { stdin: 'key-1\n' })
    expect(readProfiles(sandbox).profiles).to.have.nested.property('work.id', 'work-2')
    expect(findCredentials(sandbox)).to.have.length(2)
    expect(await run('chat', 'models', '--profile', 'acme')).to.include({ exitCode: 0 })
    expect(await rename('work', 'other')).to.include({ exitCode: 0 })
    expect(await rename('acme', 'work')).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox).profiles?.['work']).not.to.have.property('id')
    expect(await run('chat', 'models', '--profile', 'work')).to.include({ exitCode: 0 })
  })
})

describe('auth rename while the service verifies a sign-in to the profile', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() =>
    startBearerService(async (token) => {
      if (token === 'key-2') await runChatctl(sandbox, ['auth', 'rename', 'work', 'acme'])
      return true
    }),
  )

  for (const [flags, stdin] of [
    [['--with-api-key', '--insecure-storage'], 'key-2\n'],
    [['--credential-command', 'echo key-2'], ''],
  ] as const)
    it(`keeps its credential, and ends auth login ${flags[0]} with 7`, async () => {
      await storeKey(sandbox, 'key-1', service)
      const words = ['auth', 'login', '--profile', 'work', '--base-url', service.url, ...flags]
      const login = await runChatctl(sandbox, words, { stdin })
      expectFailure(login, 7, 'Profile "work" is not the one that the sign-in began with')
      expect(readCredential(sandbox)).to.include({ key: 'key-1' })
      expect(Object.keys(readProfiles(sandbox).profiles ?? {})).to.deep.equal(['acme'])
      expect(readProfiles(sandbox).profiles?.['acme']).to.have.property('credential')
    })
})

describe('auth rename with sessions and a mirror', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(
    () => serveInProcess(sandbox),
    (started) => started.stop(),
  )
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const succeed = async (...args: string[]) => {
    const { stdout } = expectSuccess(await run(...args))
    return stdout
  }
  const parsed = async (...args: string[]) => JSON.parse(await succeed(...args, '--json'))
  const sessions = (): Promise<{ id: string; context_id: string }[]> => parsed('chat', 'sessions')
  const found = (): Promise<unknown[]> => parsed('history', 'search', 'hippopotamus')

  beforeEach(async () => {
    await storeKey(sandbox, await makeKey(sandbox), service)
    await succeed('chat', 'send', 'Where does a hippopotamus sleep?')
    await succeed('history', 'sync')
  })

  it('keeps sessions, the mirror, and the last conversation, and is shown in every output', async () => {
    const before = await sessions()
    const matches = await found()
    expect([before.length, matches.length > 0]).to.deep.equal([1, true])
    const renamed = await parsed('auth', 'rename', 'work', 'acme')
    expect(renamed).to.deep.equal({ profile: 'acme', former_name: 'work' })
    expect(await sessions()).to.deep.equal(before.map((row) => ({ ...row, profile: 'acme' })))
    expect(await found()).to.have.length(matches.length)
    expect(await parsed('history', 'sync')).to.include({ added: 0, removed: 0 })
    const sent = await parsed('chat', 'send', '--continue', 'And a zebra?')
    expect(sent.context_id).to.equal(before[0]?.context_id)
    // Every output about a session shows the new name.
    const [{ id = '' } = {}] = before
    const [named] = await parsed('chat', 'rename', id, 'zoo')
    expect(named).to.have.property('profile', 'acme')
    expect(await parsed('chat', 'show', id)).to.have.property('profile', 'acme')
    for (const form of ['text', 'markdown', 'html'])
      expect(await succeed('chat', 'show', id, '-o', form)).to.contain(`zoo, session ${id}, profile acme`)
    const elsewhere = ['chat', '--resume', id, '--profile', 'local']
    const { stdout } = await runChatctl(sandbox, elsewhere, { terminal: { columns: 200 } })
    expect(stdout).to.contain(', profile acme').and.to.contain(`chatctl chat --resume ${id} --profile acme`)
    const [deleted] = await parsed('chat', 'delete', id, '--yes')
    expect(deleted).to.have.property('profile', 'acme')
  })

  it('shows sessions of a removed profile under no other name, and names no command that cannot resume them', async () => {
    await succeed('auth', 'rename', 'work', 'acme')
    await storeKey(sandbox, await makeKey(sandbox), service)
    await succeed('auth', 'remove', 'acme', '--yes')
    const [old] = await parsed('chat', 'sessions', '--all')
    expect(old).to.include({ profile: null, base_url: `${service.url}/` })
    expect(await parsed('chat', 'show', old.id)).to.have.property('profile', null)
    expect(await succeed('chat', 'show', old.id)).to.contain(`, session ${old.id}, profile work (removed)`)
    const words = ['chat', '--resume', old.id, '--profile', 'work']
    const resumed = await runChatctl(sandbox, words, { terminal: { columns: 200 } })
    expect(resumed.exitCode).to.equal(2)
    const about = `Session ${old.id} belongs to another service or profile: ${service.url}/, profile work (removed)`
    expect(resumed.stdout)
      .to.contain(about)
      .and.to.contain(`chatctl chat show ${old.id}`)
      .and.not.to.contain('--resume')
  })

  it('gives a new profile with the name of a removed one no conversation of it', async () => {
    for (const id of ['work-2', 'work-3']) {
      await succeed('auth', 'remove', 'work', '--yes')
      await storeKey(sandbox, await makeKey(sandbox), service)
      expect(readProfiles(sandbox).profiles).to.have.nested.property('work.id', id)
      expect(await sessions()).to.deep.equal([])
      expect(await found()).to.deep.equal([])
      expectFailure(await run('chat', 'send', '--continue', 'And a zebra?'), 2)
    }
  })
})

describe('auth remove', () => {
  const { sandbox, server, service } = makeSignInWorld()
  const run = (...args: string[]) => runChatctl(sandbox, args)

  beforeEach(async () => {
    plantSignIn(sandbox, { server, service })
    await run('config', 'set', 'directory.~/acme', 'work')
    await run('config', 'set', 'directory.~', 'local')
  })

  it('revokes and deletes the credential, and removes the profile and what names it', async () => {
    const { stdout, stderr } = expectSuccess(await run('auth', 'remove', 'work', '--yes', '--json'))
    const signOut = { profile: 'work', origin: service.url, signed_out: true, revoked: true }
    const removed = { profile: 'work', default: true, directories: ['~/acme'], sign_outs: [signOut] }
    expect(JSON.parse(stdout)).to.deep.equal(removed)
    expect(stderr).to.contain('There is no default profile now')
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(readProfiles(sandbox)).to.deep.equal({
      directories: { '~': 'local' },
      profiles: {},
      removed_ids: ['work'],
    })
  })

  it('deletes the credential of a profile that also has a credential command', async () => {
    await run('config', 'set', 'credential_command', 'op read x', '--profile', 'work')
    const dry = await run('auth', 'remove', 'work', '--dry-run', '--json')
    expect(JSON.parse(dry.stdout)).to.deep.include({ sign_out: [service.url] })
    const { stdout } = expectSuccess(await run('auth', 'remove', 'work', '--yes', '--json'))
    const row = { profile: 'work', origin: service.url, signed_out: true }
    const expected = [
      { ...row, revoked: false, credential_command: 'op read x' },
      { ...row, revoked: true },
    ]
    expect(JSON.parse(stdout).sign_outs).to.deep.equal(expected)
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  it('removes the profile if the server does not confirm the revocation, and warns', async () => {
    server.script.revoke = json(500, {})
    const { stderr } = expectSuccess(await run('auth', 'remove', 'work', '--yes'))
    expect(stderr).to.contain('may still be valid at the server')
    expect(readProfiles(sandbox).profiles).to.deep.equal({})
  })

  it('keeps the profile if its credential could not be deleted', async () => {
    editProfile(sandbox, 'work', {
      storage: undefined,
      credential: { origin: service.url, storage: 'keychain' },
    })
    expectFailure(await run('auth', 'remove', 'work', '--yes'), 4, 'keychain')
    expect(readProfiles(sandbox).profiles).to.have.property('work')
  })

  it('removes a profile without credentials on a machine without a keychain', async () => {
    await run('config', 'set', 'base_url', 'https://chat.example', '--profile', 'other')
    expectSuccess(await run('auth', 'remove', 'other', '--yes'))
    expect(readProfiles(sandbox).profiles).not.to.have.property('other')
  })

  it('changes nothing with --dry-run, and exits 3 without confirmation', async () => {
    const before = readProfiles(sandbox)
    const { stdout } = await run('auth', 'remove', 'work', '--dry-run', '--json')
    const plan = { remove: 'work', sign_out: [service.url], default: true, directories: ['~/acme'] }
    expect(JSON.parse(stdout)).to.deep.equal(plan)
    expectFailure(await run('auth', 'remove', 'work'), 3, 'Confirmation is required')
    expect(readProfiles(sandbox)).to.deep.equal(before)
    expect(findCredentials(sandbox)).to.have.length(1)
  })

  it('exits 2 for local and for an unknown profile', async () => {
    expectFailure(await run('auth', 'remove', 'local', '--yes'), 2, 'is the embedded service')
    const unknown = await run('auth', 'remove', 'worker', '--yes')
    expectFailure(unknown, 2, 'Unknown profile "worker"', 'Did you mean work?')
  })
})
