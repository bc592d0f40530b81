import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import {
  changeCredential,
  editProfile,
  expectNothingStored,
  findCredentials,
  readCredential,
  readProfiles,
} from '../../support/credential-files.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { owner, startBearerService } from '../../support/handlers/bearer.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startLogin } from '../../support/login-process.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  delayed,
  failing,
  json,
  reset,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { loginFlags, signIn, storeKey } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'
import { until } from '../../support/until.ts'

describe('signing in with an API key', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService((token) => token === 'key-1'))

  const flags = (url = service.url) => [
    ...['auth', 'login', '--with-api-key', '-p', 'work', '--base-url', url, '--insecure-storage'],
  ]
  const login = (stdin: string, ...more: string[]): Promise<Run> =>
    runChatctl(sandbox, [...flags(), ...more], { stdin })

  it('asks the service for the owner of the key, and stores the key', async () => {
    const { stdout } = expectSuccess(await login(' key-1 \r\n', '--json'))
    expect(JSON.parse(stdout)).to.deep.equal({
      ...{ profile: 'work', base_url: service.url, kind: 'api_key', storage: 'file' },
      ...{ verified: true, expires_at: null, scope: null },
      user: { id: owner.id, email: owner.email, name: owner.name },
    })
    expect(service.requests.map(({ path }) => path)).to.deep.equal(['/api/user/profile'])
    const user = { id: owner.id, email: owner.email }
    expect(readCredential(sandbox)).to.deep.equal({ version: 1, kind: 'api_key', key: 'key-1', user })
    expect(readProfiles(sandbox)).to.deep.include({ default_profile: 'work' })
  })

  it('sends no request with --no-verify', async () => {
    const { stdout } = expectSuccess(await login('key-2\n', '--no-verify', '--json'))
    expect(JSON.parse(stdout)).to.include({ verified: false })
    expect(service.requests).to.deep.equal([])
  })

  for (const [what, stdin, exitCode] of [
    ['a key that the service refuses', 'key-2\n', 4],
    ['a key with a control character', 'key-1\u0007\n', 2],
    ['two lines', 'key-1\nkey-2\n', 2],
  ] as const)
    it(`stores nothing for ${what}`, async () => {
      const run = await login(stdin)
      expectFailure(run, exitCode)
      expect(run.stderr).not.to.match(/key-[12]/)
      expectNothingStored(sandbox)
    })

  it('stores nothing if stdin contains no key', async () => {
    for (const stdin of ['', ' \n']) {
      const { exitCode, stdout } = await login(stdin)
      expect(exitCode).to.be.oneOf([2, 3])
      expect(stdout).to.equal('')
    }
    expectNothingStored(sandbox)
  })

  for (const [status, exitCode] of [
    [403, 5],
    [500, 69],
  ] as const)
    it(`stores nothing if the service responds with ${status}`, async () => {
      await using broken = await startScriptedServer(failing(status, 'x', 'In its own words'))
      const args = [...flags(broken.url), '--retries', '0']
      expectFailure(await runChatctl(sandbox, args, { stdin: 'key-1\n' }), exitCode)
      expectNothingStored(sandbox)
    })

  it('stores nothing after Ctrl-C while stdin is open: exit 130', async function () {
    if (process.platform === 'win32') return this.skip()
    const running = startChatctl(sandbox, flags())
    running.stdin.write('half of a key')
    await until(() => running.stdin.readableLength === 0)
    running.interrupt()
    expect(await running.ended).to.include({ exitCode: 130, stdout: '' })
    expectNothingStored(sandbox)
  })

  it('exits 2 for a name that a profile cannot have, before it asks for the base URL', async () => {
    const run = await runChatctl(sandbox, ['auth', 'login', '--with-api-key', '-p', 'my profile'])
    expectFailure(run, 2, 'is not a valid profile name')
  })

  it('is refused for the embedded service, which needs no key', async () => {
    const args = ['auth', 'login', '--with-api-key', '-p', 'local', '--insecure-storage']
    expectFailure(await runChatctl(sandbox, args, { stdin: 'key-1\n' }), 2, 'embedded service')
    expectNothingStored(sandbox)
  })
})

/** Mistakes of users who sign in for the first time, or whose configuration is unusual. */
describe('signing in with a common mistake', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService(() => true))

  const configure = (configuration: object): void => {
    const directory = join(sandbox.home, '.config', 'chatctl')
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    writeFileSync(join(directory, 'config.json'), JSON.stringify(configuration))
  }
  const run = (line: string) => runChatctl(sandbox, line.split(' '))

  it('ignores white space around a URL', async () => {
    const flags = ['-p', 'work', '--base-url', `${service.url} `, '--auth-url', ` ${server.url} `]
    const more = ['--client-id', server.clientId, '--insecure-storage', '--no-browser']
    const login = startLogin(sandbox, [...flags, ...more])
    await signInByHttp((await login.address()).href)
    expect(await login.ended).to.include({ exitCode: 0 })
    const { work } = readProfiles(sandbox).profiles ?? {}
    expect(work).to.include({ base_url: service.url, auth_url: server.url })
  })

  for (const way of [['--with-api-key'], ['--ci'], ['--credential-command', 'op read x']]) {
    for (const option of [['--no-browser'], ['--no-pkce'], ['--redirect-port', '8400']])
      it(`refuses ${way[0]} with ${option[0]}, which it would ignore`, async () => {
        const env = { CHATCTL_OIDC: 'env:X' }
        const args = ['auth', 'login', '--base-url', service.url, '--dry-run', ...way, ...option]
        const words = `${way[0]} and ${option[0]} cannot be used together`
        expectFailure(await runChatctl(sandbox, args, { env }), 2, words)
      })
  }

  it('refuses --credential-command with --scope, which it would store for nothing', async () => {
    const flags = ['--base-url', service.url, '--credential-command', 'op read x', '--scope', 'chat:read']
    const run = await runChatctl(sandbox, ['auth', 'login', ...flags])
    expectFailure(run, 2, '--credential-command and --scope cannot be used together')
  })

  it('prints a useful hint if --base-url is given without the profile', async () => {
    await storeKey(sandbox, 'key-1', service)
    const run = await runChatctl(sandbox, ['auth', 'status', '--base-url', service.url])
    expectFailure(run, 4, '--profile NAME')
    expect(run.stderr).not.to.contain('auth login')
  })

  for (const [variable, value] of [
    ['CHATCTL_API_KEY', () => 'env-key'],
    ['CHATCTL_API_KEY_FILE', () => join(sandbox.home, 'key.txt')],
  ] as const)
    it(`warns at login and logout that ${variable} takes precedence`, async () => {
      writeFileSync(join(sandbox.home, 'key.txt'), 'env-key')
      const env = { [variable]: value() }
      const flags = ['-p', 'work', '--base-url', service.url, '--with-api-key', '--insecure-storage']
      const login = await startLogin(sandbox, flags, { stdin: 'key-1\n', env }).ended
      expect(login.stderr).to.contain(`${variable} is set and takes precedence`)
      const logout = await runChatctl(sandbox, ['auth', 'logout', '-p', 'work'], { env })
      expect(logout.stderr).to.contain(`${variable} is set and takes precedence`)
    })

  it('uses the default profile if two profiles have the base URL', async () => {
    await storeKey(sandbox, 'key-a', service, 'a')
    await storeKey(sandbox, 'key-b', service, 'b')
    await runChatctl(sandbox, ['auth', 'use', 'b'])
    const flags = ['--base-url', service.url, '--with-api-key', '--json']
    const { stdout } = await startLogin(sandbox, flags, { stdin: 'key-c\n' }).ended
    expect(JSON.parse(stdout).profile).to.equal('b')
    for (const [name, key] of Object.entries({ a: 'key-a', b: 'key-c' }))
      expect((await runChatctl(sandbox, ['auth', 'token', '-p', name])).stdout).to.equal(`${key}\n`)
  })

  it('lists the other profiles if one has an invalid base URL', async () => {
    await storeKey(sandbox, 'key-a', service, 'a')
    const { profiles = {} } = readProfiles(sandbox)
    configure({ profiles: { ...profiles, odd: { base_url: 'invalid' } } })
    const { stdout } = expectSuccess(await runChatctl(sandbox, ['auth', 'list']))
    expect(stdout).to.match(/^a\t.*\tapi_key\tfile\t/m)
    expect(stdout).to.match(/^odd\t/m)
  })

  it('replaces a default profile that does not exist', async () => {
    for (const replace of [() => storeKey(sandbox, 'key-1', service, 'x'), () => run('auth use x')]) {
      configure({ default_profile: 'gone', profiles: { x: { base_url: service.url } } })
      expectSuccess(await run('auth list'))
      expectSuccess(await replace())
      expect(readProfiles(sandbox).default_profile).to.equal('x')
    }
  })

  it('fails before the browser opens if the profile cannot be written', async () => {
    const flags = [...loginFlags({ server, service }), '--no-browser']
    const env = { XDG_CONFIG_HOME: '/dev/null/x' }
    const run = await startLogin(sandbox, flags, { stdin: '', env }).ended
    expectFailure(run, 1, 'XDG_CONFIG_HOME')
    expect(run.stderr).not.to.contain('open this URL')
  })
})

describe('auth login with an address and without a profile', () => {
  const world = makeSignInWorld()

  for (const [what, flags, env] of [
    ['--base-url', () => ['--base-url', world.service.url], () => ({})],
    ['--base-url, with a slash', () => ['--base-url', `${world.service.url}/`], () => ({})],
    ['CHATCTL_BASE_URL', () => [], () => ({ CHATCTL_BASE_URL: world.service.url })],
  ] as const)
    it(`uses the profile that has the address, and all values stored in it: ${what}`, async () => {
      plantSignIn(world.sandbox, world)
      const login = startLogin(world.sandbox, ['--no-browser', ...flags()], { env: env() })
      await signInByHttp((await login.address()).href)
      expect(await login.ended).to.include({ exitCode: 0 })
      expect(world.server.tokenRequests[0]?.get('client_id')).to.equal(world.server.clientId)
      expect(Object.keys(readProfiles(world.sandbox).profiles ?? {})).to.deep.equal(['work'])
      expect(findCredentials(world.sandbox)).to.have.length(1)
    })

  it('does not use a profile that has another address', async () => {
    plantSignIn(world.sandbox, world)
    const flags = ['--no-browser', '--insecure-storage', '--base-url', `${world.service.url}/sub`]
    expectFailure(await startLogin(world.sandbox, flags, { stdin: '' }).ended, 3, '--auth-url')
  })

  it('names --profile if a profile of another address has the name of the host, in any case', async () => {
    const set = ['config', 'set', 'base_url', 'https://other.example', '--profile', 'Chat.Example']
    await runChatctl(world.sandbox, set)
    const flags = '--base-url https://chat.example --with-api-key --no-verify --insecure-storage'.split(' ')
    const run = await startLogin(world.sandbox, flags, { stdin: 'key-1\n' }).ended
    expectFailure(run, 2, 'Profile "Chat.Example" already exists, with another base URL', '--profile NAME')
  })

  for (const [what, host] of [
    ['is too long', `${'a'.repeat(60)}.${'b'.repeat(60)}.example`],
    ['is a property of every object', '__proto__'],
  ] as const)
    it(`fails if the name of the profile ${what}: exit 2`, async () => {
      const flags = ['--base-url', `https://${host}`, '--with-api-key', '--no-verify', '--insecure-storage']
      expectFailure(await startLogin(world.sandbox, flags, { stdin: 'key-1\n' }).ended, 2)
      expectNothingStored(world.sandbox)
    })
})

/** Anyone who receives a code at the wrong token endpoint can redeem it (RFC 9700 section 4.4). */
describe('signing in at another authorization server than the one in the profile', () => {
  const sandbox = perTest(createSandbox)
  const known = perTest(startAuthorizationServer)
  const other = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => known.live.has(token) || other.live.has(token)))
  beforeEach(() => {
    plantSignIn(sandbox, { server: known, service })
    editProfile(sandbox, 'work', {
      client_id: 'client-of-the-known',
      token_url: `${known.url}/oauth/token`,
      scope: 'of-the-known',
    })
  })

  const profile = () => readProfiles(sandbox).profiles?.['work']

  it('sends the code to the new server, without the stored client ID and scope, and replaces them', async () => {
    await signIn(sandbox, { server: other, service }, [])
    expect(known.tokenRequests).to.deep.equal([])
    expect(other.tokenRequests[0]?.get('client_id')).to.equal(other.clientId)
    expect(other.authorizations[0]?.get('client_id')).to.equal(other.clientId)
    expect(other.authorizations[0]?.has('scope')).to.equal(false)
    expect(profile()).to.deep.equal({
      base_url: service.url,
      auth_url: other.url,
      client_id: other.clientId,
      storage: 'file',
      credential: { origin: service.url, storage: 'file' },
    })
  })

  for (const [what, flags, env] of [
    ['--auth-url', () => ['--auth-url', other.url], () => ({})],
    ['CHATCTL_AUTH_URL', () => [], () => ({ CHATCTL_AUTH_URL: other.url })],
  ] as const)
    it(`requires a client ID if ${what} names the new server: exit 3`, async () => {
      const words = ['-p', 'work', '--no-browser', ...flags()]
      const run = await startLogin(sandbox, words, { stdin: '', env: env() }).ended
      expectFailure(run, 3, '--client-id')
      expect(run.stderr).not.to.contain('open this URL')
    })

  for (const [whose, words] of [
    ['of an authorization server', ['-p', 'work', '--client-id', 'x', '--auth-url']],
    ['of a service that may be its own', ['-p', 'new', '--insecure-storage', '--base-url']],
  ] as const)
    it(`reports the metadata ${whose} as rate limited: exit 75`, async () => {
      const busy = await startScriptedServer(answer(429))
      const run = await startLogin(sandbox, [...words, busy.url, '--max-wait', '0'], { stdin: '' }).ended
      await busy.close()
      expectFailure(run, 75, `Cannot read the metadata of ${busy.url}: it responded 429`, 'Try again later')
    })

  it('uses the stored values if the server is the one in the profile', async () => {
    known.script.metadata = () => undefined
    const login = startLogin(sandbox, ['-p', 'work', '--auth-url', known.url, '--no-browser'])
    await signInByHttp((await login.address()).href)
    expect(await login.ended).to.include({ exitCode: 0 })
    expect(known.tokenRequests[0]?.get('client_id')).to.equal('client-of-the-known')
    expect(known.authorizations[0]?.get('scope')).to.equal('of-the-known')
    expect(profile()).to.include({ token_url: `${known.url}/oauth/token`, scope: 'of-the-known' })
  })
})

describe('a browser sign-in as another user than before', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startScriptedServer((...exchange) => json(200, user)(...exchange)))
  /** The user to whom the next token belongs, as the service reports it. */
  let user: object
  beforeEach(() => {
    user = owner
  })

  const mallory = { ...owner, id: 'u2', email: 'mallory@example.com' }
  const attempt = async () => {
    const login = startLogin(sandbox, [...loginFlags({ server, service }), '--no-browser'], { stdin: '' })
    await signInByHttp((await login.address()).href)
    return login.ended
  }

  it('is refused if stdin is not a terminal, with a hint for the command that allows it: exit 3', async () => {
    await signIn(sandbox, { server, service }, [])
    const before = readCredential(sandbox)
    user = mallory
    const run = await attempt()
    const words =
      'Profile "work" was signed in as ada@example.com, and the browser signed in mallory@example.com'
    expectFailure(run, 3, words, 'chatctl auth logout --profile work')
    expect(readCredential(sandbox)).to.deep.equal(before)
    await runChatctl(sandbox, ['auth', 'logout', '--profile', 'work'])
    expect(await attempt()).to.include({ exitCode: 0 })
    expect(readCredential(sandbox).user).to.deep.equal({ id: 'u2', email: 'mallory@example.com' })
  })

  it('is refused also if an API key was stored, but an API key replaces any credential', async () => {
    await storeKey(sandbox, 'key-1', service)
    user = mallory
    expectFailure(await attempt(), 3, 'ada@example.com')
    await storeKey(sandbox, 'key-2', service)
    const expected = { key: 'key-2', user: { id: 'u2', email: mallory.email } }
    expect(readCredential(sandbox)).to.deep.include(expected)
  })

  for (const [what, change] of [
    ['has a new email address', { email: 'ada@new.example' }],
    ['no longer has an ID', { id: undefined }],
    ['is not named', { id: undefined, email: undefined }],
  ] as const)
    it(`is not refused if the user ${what}`, async () => {
      await signIn(sandbox, { server, service }, [])
      user = { ...owner, ...change }
      expect(await attempt()).to.include({ exitCode: 0 })
    })
})

describe('a sign-in that grants less than was requested', () => {
  it('names the missing scopes', async () => {
    using sandbox = createSandbox()
    await using server = await startAuthorizationServer()
    await using service = await startScriptedServer(json(200, owner))
    const granted = [{ scope: 'chat:read' }, { scope: 'b a x' }, {}]
    server.script.token = granted.map((fields) => server.tokens(fields))
    const stderr = async (scope: string) =>
      (await signIn(sandbox, { server, service }, ['--scope', scope])).stderr
    const words = 'The authorization server did not grant these scopes: '
    const shown = await stderr('chat:read chat:write settings:write')
    expect(shown).to.contain(`${words}chat:write settings:write\n`)
    expect(await stderr('a b')).not.to.contain(words)
    // If the response has no scope, all of it was granted (RFC 6749 section 5.1).
    expect(await stderr('a b')).not.to.contain(words)
  })
})

const page = answer(401, { 'content-type': 'text/html' }, '<h1>No</h1>')

describe('auth logout', () => {
  const server = perSuite(startOidcProvider)
  const service = perSuite(() => startBearerService(async (token) => keys.has(token) || server.isLive(token)))
  const sandbox = perTest(createSandbox)
  const keys = new Set<string>()
  beforeEach(() => {
    service.requests.length = 0
    server.revoked.length = 0
    keys.clear()
  })

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  it('revokes and deletes the token, and keeps the profile', async () => {
    await signIn(sandbox, { server, service })
    const { access_token = '', refresh_token = '' } = readCredential(sandbox)
    expect(await run('auth', 'logout')).to.include({ exitCode: 0 })
    expect(server.revoked).to.include(refresh_token)
    expect(await server.isLive(access_token)).to.equal(false)
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(readProfiles(sandbox).profiles).to.have.property('work')
    service.requests.length = 0
    expectFailure(await run('chat', 'models'), 4, 'chatctl auth login')
    expect(service.requests).to.deep.equal([])
  })

  it('succeeds for a profile that is not signed in, and says so, but not for an unknown profile', async () => {
    await signIn(sandbox, { server, service })
    await run('auth', 'logout')
    const again = expectSuccess(await run('auth', 'logout', '-p', 'work'))
    expect(again.stderr).to.contain('Profile "work" was not signed in.')
    expectFailure(await run('auth', 'logout', '-p', 'nowhere'), 2, 'nowhere')
  })

  it('sends no request for an API key', async () => {
    keys.add('key-1')
    await storeKey(sandbox, 'key-1', service)
    service.requests.length = 0
    expect(await run('auth', 'logout')).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(service.requests).to.deep.equal([])
  })

  for (const flags of ['-p work', '--all --yes'])
    it(`removes the credential command and the stored key of one profile with ${flags}`, async () => {
      keys.add('key-1')
      await storeKey(sandbox, 'key-1', service)
      await run('config', 'set', 'credential_command', 'op read x', '-p', 'work')
      const { exitCode, stdout, stderr } = await run('auth', 'logout', ...flags.split(' '), '--json')
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
      const row = { profile: 'work', origin: service.url, signed_out: true, revoked: false }
      expect(JSON.parse(stdout)).to.deep.equal([{ ...row, credential_command: 'op read x' }, row])
      expect(findCredentials(sandbox)).to.deep.equal([])
      expect(readProfiles(sandbox).profiles?.['work']).to.have.keys('base_url', 'storage')
      const [profile] = JSON.parse((await run('auth', 'list', '--json')).stdout).slice(1)
      expect(profile).to.include({ profile: 'work', kind: null, storage: null })
    })

  for (const [what, behavior, words] of [
    ['returns 503', answer(503), '503'],
    ['resets the connection', reset, 'The stored token was deleted'],
    ['is slow', delayed(6000, answer(200)), 'The stored token was deleted'],
    ['returns 400 with an empty body', answer(400), 'The revocation failed: http://127'],
    ['returns 401 with a page', page, 'failed: http://127'],
  ] as const)
    it(`deletes the token and prints a warning if the revocation endpoint ${what}`, async () => {
      await using scripted = await startAuthorizationServer()
      await using house = await startBearerService((token) => scripted.live.has(token))
      plantSignIn(sandbox, { server: scripted, service: house })
      scripted.script.revoke = behavior
      const { stderr } = expectSuccess(await run('auth', 'logout', '--json', '--timeout', '1s'))
      const [warning = '', ...others] = stderr.split('\n').filter((line) => line.includes('"warning"'))
      expect(others).to.deep.equal([])
      expect(JSON.parse(warning).warning.message).to.contain(words).and.contain('may still be valid')
      expect(stderr).not.to.match(/(access|refresh)-token-\d|JSON|token URL/)
      expect(scripted.revocations[0]?.get('token')).to.equal('refresh-token-1')
      expect(findCredentials(sandbox)).to.deep.equal([])
    })

  it('keeps a sign-in of another process during the revocation', async () => {
    await using scripted = await startAuthorizationServer()
    plantSignIn(sandbox, { server: scripted, service })
    keys.add('key-1')
    scripted.script.revoke = async (...exchange) => {
      await storeKey(sandbox, 'key-1', service)
      await answer(200)(...exchange)
    }
    expect(await run('auth', 'logout')).to.include({ exitCode: 0 })
    expect(readCredential(sandbox)).to.include({ key: 'key-1' })
    expect(readProfiles(sandbox).profiles?.['work']).to.have.property('credential')
  })

  it('revokes the token even if the configuration cannot be written', async () => {
    await using scripted = await startAuthorizationServer()
    plantSignIn(sandbox, { server: scripted, service })
    mkdirSync(join(sandbox.home, '.config', 'chatctl', 'config.json.lock'))
    expectFailure(await run('auth', 'logout'), 1, 'Cannot open the lock')
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(scripted.revocations.map((form) => form.get('token'))).to.deep.equal(['refresh-token-1'])
  })

  for (const fields of [{ version: 2 }, { revocation_endpoint: 'not-a-url' }])
    it(`deletes a credential with ${JSON.stringify(fields)}, and warns that nothing was revoked`, async () => {
      await signIn(sandbox, { server, service })
      changeCredential(sandbox, fields)
      const { stderr } = expectSuccess(await run('auth', 'logout', '--json'))
      const warnings = stderr.split('\n').filter((line) => line.includes('"warning"'))
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.contain('it was not revoked')
      expect(server.revoked).to.deep.equal([])
      expect(findCredentials(sandbox)).to.deep.equal([])
    })

  it('requires --yes with --all if stdin is not a terminal and a profile is signed in', async () => {
    expect(await run('auth', 'logout', '--all')).to.include({ exitCode: 0, stderr: '' })
    keys.add('key-1')
    await signIn(sandbox, { server, service })
    await storeKey(sandbox, 'key-1', service, 'second')
    expectFailure(await run('auth', 'logout', '--all'), 3, '--yes')
    expect(findCredentials(sandbox)).to.have.length(2)
    expect(server.revoked).to.deep.equal([])
    expect(await run('auth', 'logout', '--all', '--yes')).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(server.revoked.length).to.be.above(0)
    expect(await run('auth', 'logout', '--all', '--yes')).to.include({ exitCode: 0 })
  })

  it('is not caused by a new key that the service refuses: the old key stays', async () => {
    keys.add('key-1')
    await storeKey(sandbox, 'key-1', service)
    const flags = ['--with-api-key', '-p', 'work', '--base-url', service.url, '--insecure-storage']
    expectFailure(await runChatctl(sandbox, ['auth', 'login', ...flags], { stdin: 'key-2\n' }), 4)
    expect(readCredential(sandbox).key).to.equal('key-1')
  })
})

describe('a sign-in that is no longer used', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() =>
    startBearerService((token) => token.startsWith('key-') || server.live.has(token)),
  )

  const revoked = () => server.revocations.map((form) => form.get('token'))
  const grantPerSignIn = () => {
    server.script.metadata = (document) => ({ ...document, chatctl_grant_per_sign_in: true })
  }
  const signOutFirst = 'sign out first: chatctl auth logout --profile work'

  /** Signs in, whatever the outcome is. */
  async function tryToSignIn(at: { url: string } = service, ...more: string[]): Promise<Run> {
    const login = startLogin(sandbox, [...loginFlags({ server, service: at }), '--no-browser', ...more])
    await signInByHttp((await login.address()).href)
    return login.ended
  }

  describe('because another one replaces it', () => {
    it('is revoked if the server keeps one grant for each sign-in', async () => {
      grantPerSignIn()
      await signIn(sandbox, { server, service })
      const again = await signIn(sandbox, { server, service })
      expect(revoked()).to.deep.equal(['refresh-token-1'])
      expect(again.stderr).not.to.contain('valid')
      expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-2')
    })

    it('is not revoked if that could end the new sign-in, and stderr says that it may stay valid', async () => {
      await signIn(sandbox, { server, service })
      const again = await signIn(sandbox, { server, service })
      expect(revoked()).to.deep.equal([])
      expect(again.stderr).to.contain(`The earlier sign-in may stay valid at ${server.url}`)
      expect(again.stderr).to.contain(signOutFirst)
    })

    it('is revoked if an API key replaces it', async () => {
      plantSignIn(sandbox, { server, service })
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(revoked()).to.deep.equal(['refresh-token-1'])
      expect(stderr).not.to.contain('valid')
    })

    it('is not revoked for an API key if that could end the sign-in of another profile', async () => {
      plantSignIn(sandbox, { server, service })
      await signIn(sandbox, { server, service }, [], { profile: 'other' })
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(revoked()).to.deep.equal([])
      expect(stderr).to.contain('could end another sign-in')
    })

    it('is reported as perhaps still valid if its revocation fails, or the server has no endpoint for it', async () => {
      plantSignIn(sandbox, { server, service })
      server.script.revoke = answer(503)
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(stderr).to.match(/^Warning: The earlier sign-in may stay valid at .*503/m)
      expect(readCredential(sandbox)).to.include({ kind: 'api_key' })
      server.script.metadata = (document) => ({ ...document, revocation_endpoint: undefined })
      await signIn(sandbox, { server, service })
      const words = `The earlier sign-in may stay valid at ${server.url}`
      expect((await storeKey(sandbox, 'key-1', service)).stderr).to.contain(words)
    })
  })

  describe('because the service refuses it', () => {
    const forbidding = perTest(() => startScriptedServer((...all) => serve(...all)))
    let serve: Behavior
    beforeEach(() => {
      serve = failing(403, 'forbidden', 'no')
    })

    it('is revoked and not stored: exit 5', async () => {
      expectFailure(await tryToSignIn(forbidding), 5)
      expect(revoked()).to.deep.equal(['refresh-token-1'])
      expect(findCredentials(sandbox)).to.deep.equal([])
    })

    it('is not revoked if that could end the stored one, and stderr says that it may stay valid', async () => {
      plantSignIn(sandbox, { server, service })
      const run = await tryToSignIn(forbidding)
      expectFailure(run, 5, `The new sign-in may stay valid at ${server.url}`, signOutFirst)
      expect(revoked()).to.deep.equal([])
      expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-1')
    })

    it('is revoked without the stored one if the server keeps one grant for each sign-in', async () => {
      grantPerSignIn()
      plantSignIn(sandbox, { server, service })
      expectFailure(await tryToSignIn(forbidding), 5)
      expect(revoked()).to.deep.equal(['refresh-token-2'])
      expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-1')
    })

    it('is revoked after Ctrl-C during the request to the service: exit 130', async () => {
      serve = delayed(15_000, answer(200))
      const login = startLogin(sandbox, [...loginFlags({ server, service: forbidding }), '--no-browser'])
      const page = signInByHttp((await login.address()).href)
      while (forbidding.requests.length < 1) await new Promise((resolve) => setTimeout(resolve, 10))
      login.interrupt('SIGINT')
      expect(await login.ended).to.include({ exitCode: 130 })
      await page
      expect(revoked()).to.deep.equal(['refresh-token-1'])
    })
  })

  it('because it cannot be stored is revoked: exit 2', async () => {
    const login = startLogin(sandbox, [...loginFlags({ server, service }), '--no-browser'])
    const address = await login.address()
    // Only now, because chatctl tries whether it can store the sign-in before it opens the browser.
    const directory = join(sandbox.home, '.config', 'chatctl', 'config.json')
    mkdirSync(directory)
    await signInByHttp(address.href)
    expectFailure(await login.ended, 2, 'config.json')
    expect(revoked()).to.deep.equal(['refresh-token-1'])
    expect(findCredentials(sandbox)).to.deep.equal([])
    rmSync(directory, { recursive: true })
  })
})

describe('an API key that another one replaces', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  beforeEach(() => storeKey(sandbox, 'key-1', service))

  it('is reported as perhaps still valid', async () => {
    const { stderr } = await storeKey(sandbox, 'key-2', service)
    expect(stderr).to.contain(`The key that was stored before may stay valid at ${service.url}`)
  })

  it('is deleted if it was stored for another address, whatever address the profile has now', async () => {
    await using other = await startBearerService(() => true)
    editProfile(sandbox, 'work', { base_url: 'https://between.example' })
    await storeKey(sandbox, 'key-2', other)
    expect(readCredential(sandbox)).to.include({ key: 'key-2' })
  })
})
