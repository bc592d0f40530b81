import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import {
  changeCredential,
  editProfile,
  findCredentials,
  readCredential,
  readProfiles,
} from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startLogin } from '../../support/login-process.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  delayed,
  failing,
  reset,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { loginFlags, signIn, storeKey } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'

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

  it('succeeds for a profile that is not signed in, and says so', async () => {
    await signIn(sandbox, { server, service })
    await run('auth', 'logout')
    const again = await run('auth', 'logout', '-p', 'work')
    expect(again.exitCode).to.equal(0)
    expect(again.stderr).to.contain('Profile "work" was not signed in.')
  })

  it('fails for a profile that does not exist: exit 2', async () =>
    expectFailure(await run('auth', 'logout', '-p', 'nowhere'), 2, 'nowhere'))

  it('sends no request for an API key', async () => {
    keys.add('key-1')
    await storeKey(sandbox, 'key-1', service)
    service.requests.length = 0
    expect(await run('auth', 'logout')).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(service.requests).to.deep.equal([])
  })

  for (const flags of [
    ['-p', 'work'],
    ['--all', '--yes'],
  ])
    it(`removes the credential command and the stored key of one profile with ${flags[0]}`, async () => {
      keys.add('key-1')
      await storeKey(sandbox, 'key-1', service)
      await run('config', 'set', 'credential_command', 'op read x', '-p', 'work')
      const { exitCode, stdout, stderr } = await run('auth', 'logout', ...flags, '--json')
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
    [
      'returns 401 with a page',
      answer(401, { 'content-type': 'text/html' }, '<h1>No</h1>'),
      'failed: http://127',
    ],
  ] as const)
    it(`deletes the token and prints a warning if the revocation endpoint ${what}`, async () => {
      await using scripted = await startAuthorizationServer()
      await using house = await startBearerService((token) => scripted.live.has(token))
      plantSignIn(sandbox, { server: scripted, service: house })
      scripted.script.revoke = behavior
      const { exitCode, stderr } = await run('auth', 'logout', '--json', '--timeout', '1s')
      expect(exitCode, stderr).to.equal(0)
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

  const unreadable = [{ version: 2 }, { revocation_endpoint: 'not-a-url' }]
  for (const fields of unreadable)
    it(`deletes a credential with ${JSON.stringify(fields)}, and warns that nothing was revoked`, async () => {
      await signIn(sandbox, { server, service })
      changeCredential(sandbox, fields)
      const { exitCode, stderr } = await run('auth', 'logout', '--json')
      expect(exitCode, stderr).to.equal(0)
      const warnings = stderr.split('\n').filter((line) => line.includes('"warning"'))
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.contain('it was not revoked')
      expect(server.revoked).to.deep.equal([])
      expect(findCredentials(sandbox)).to.deep.equal([])
    })

  it('needs no confirmation with --all if no profile is signed in', async () =>
    expect(await run('auth', 'logout', '--all')).to.include({ exitCode: 0, stderr: '' }))

  it('requires --yes with --all if stdin is not a terminal', async () => {
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

    it('is reported as perhaps still valid if the server has no revocation endpoint', async () => {
      server.script.metadata = (document) => ({ ...document, revocation_endpoint: undefined })
      await signIn(sandbox, { server, service })
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(stderr).to.contain(`The earlier sign-in may stay valid at ${server.url}`)
    })

    it('is reported as perhaps still valid if its revocation fails, and the new credential is stored', async () => {
      plantSignIn(sandbox, { server, service })
      server.script.revoke = answer(503)
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(stderr).to.match(/^Warning: The earlier sign-in may stay valid at .*503/m)
      expect(readCredential(sandbox)).to.include({ kind: 'api_key' })
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
