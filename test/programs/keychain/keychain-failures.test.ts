import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { kernelKeys } from './kernel-keys.ts'
import { startSecretService } from './secret-service.ts'
import { noBus, startSessionBus } from './session-bus.ts'
import { attributesOf, expectCode, loginWithKey, storedKey } from './stored-key.ts'

const noText = Buffer.from([0xff, 0xfe, 0x00, 0x80])

describeSample('an unusable keychain', 2, () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  const keyring = perTest(() => startSecretService(sandbox))
  beforeEach(async () => {
    await run(['config', 'set', 'base_url', service.url, '-p', 'work'])
  })

  const run = (args: string[], env: NodeJS.ProcessEnv = keyring.env) => runProgram(sandbox, args, { env })
  const models = ['chat', 'models', '-p', 'work', '--json']
  const store = (value: string | Uint8Array, ...more: string[]) => {
    const words = ['store', '--label=of a test', ...attributesOf(service), ...more]
    expect(keyring.secretTool(words, value)).to.include({ exitCode: 0 })
  }

  it('causes exit code 4 for every command if it is locked and its dialog is dismissed', async () => {
    store(storedKey('canary-1'))
    keyring.lock()
    for (const args of [
      models,
      ['auth', 'status', '-p', 'work', '--json'],
      ['auth', 'token', '-p', 'work', '--json'],
      ['auth', 'logout', '-p', 'work', '--json'],
    ]) {
      expectCode(await run(args), 'keychain_locked')
    }
    expect(service.requests).to.deep.equal([])
    expectCode(await loginWithKey(sandbox, service, 'canary-2', { env: keyring.env }), 'keychain_locked')
  })

  it('causes exit code 4 for a login if it is locked and empty', async () => {
    keyring.lock()
    expectCode(await loginWithKey(sandbox, service, 'canary-2', { env: keyring.env }), 'keychain_locked')
  })

  it('lists its items although it is locked, so that a profile without one is not signed in', async () => {
    keyring.lock()
    expectCode(await run(models), 'unauthorized')
  })

  it('causes an error with a hint if two items match, and neither is used', async () => {
    store(storedKey('canary-1'))
    store(storedKey('canary-2'), 'extra', 'x')
    const { message, hint } = expectCode(await run(models), 'keychain_ambiguous')
    expect(`${message} ${hint}`).not.to.contain('canary')
    expect(hint).to.contain('secret-tool clear')
    expectCode(await loginWithKey(sandbox, service, 'canary-3', { env: keyring.env }), 'keychain_ambiguous')
    keyring.secretTool(['clear', ...attributesOf(service)])
    expectCode(await run(models), 'unauthorized')
  })

  for (const [title, value] of [
    ['words', 'canary-garbage'],
    ['bytes that are not text', noText],
    ['a truncated item', storedKey('canary-garbage').slice(0, -5)],
    ['JSON of another kind', '["canary-garbage"]'],
    ['null', 'null'],
    ['an item without a version', '{"kind":"api_key","key":"canary-garbage"}'],
    ['an unknown kind', '{"version":1,"kind":"canary","key":"x"}'],
    ['an API key without its value', '{"version":1,"kind":"api_key","key":""}'],
    ['tokens without an address', '{"version":1,"kind":"oauth","access_token":"canary-garbage"}'],
  ] as const) {
    it(`with ${title} is not used and not quoted, and a login replaces it`, async () => {
      store(value)
      const failed = await run(models)
      expectCode(failed, 'keychain_unreadable')
      expect(failed.stderr).not.to.contain('canary')
      expect(service.requests).to.deep.equal([])
      const login = await loginWithKey(sandbox, service, 'canary-new', { env: keyring.env })
      expect(login.exitCode, login.stderr).to.equal(0)
      expect(await run(models)).to.include({ exitCode: 0 })
    })
  }

  it('with an item of version 2 causes an error that names a newer chatctl', async () => {
    store('{"version":2,"kind":"api_key","key":"canary-1"}')
    const { message } = expectCode(await run(models), 'keychain_unreadable')
    expect(message).to.match(/newer version of chatctl/)
  })

  it('can be cleaned by a logout if an item is invalid', async () => {
    for (const value of ['canary-garbage', noText]) {
      store(value)
      const logout = await run(['auth', 'logout', '-p', 'work'])
      expect(logout.exitCode, logout.stderr).to.equal(0)
      expect(logout.stderr).not.to.contain('canary')
      expectCode(await run(models), 'unauthorized')
    }
  })
})

describe('a keychain with one unusable item', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  const keyring = perTest(() => startSecretService(sandbox))
  beforeEach(async () => {
    for (const profile of ['first', 'work', 'last']) {
      expect(await loginWithKey(sandbox, service, 'canary-1', { env: keyring.env, profile })).to.include({
        exitCode: 0,
      })
    }
  })

  const run = (args: string[]) => runProgram(sandbox, args, { env: keyring.env })
  const store = (value: string, ...more: string[]) =>
    keyring.secretTool(['store', '--label=of a test', ...attributesOf(service), ...more], value)

  for (const [title, spoil] of [
    ['unreadable', () => store('canary-garbage')],
    ['duplicate', () => store(storedKey('canary-2'), 'extra', 'x')],
  ] as const) {
    it(`has the other items listed by auth list, with one warning, if the item is ${title}`, async () => {
      spoil()
      const list = await run(['auth', 'list', '--json'])
      expect(list.exitCode, list.stderr).to.equal(0)
      const rows: { profile: string; kind: string | null }[] = JSON.parse(list.stdout)
      const kinds = rows
        .filter(({ profile }) => profile !== 'local')
        .map(({ profile, kind }) => [profile, kind])
      expect(kinds).to.have.deep.members([
        ['first', 'api_key'],
        ['work', null],
        ['last', 'api_key'],
      ])
      expect(list.stderr.match(/"warning"/g)).to.have.length(1)
      expect(list.stdout + list.stderr).not.to.contain('canary')
    })
  }

  it('has the other items deleted by auth logout --all before it fails', async () => {
    store(storedKey('canary-2'), 'extra', 'x')
    const logout = await run(['auth', 'logout', '--all', '--yes', '--json'])
    expect(logout.exitCode, logout.stderr).to.equal(4)
    for (const profile of ['first', 'last']) {
      expect(keyring.secretTool(['lookup', ...attributesOf(service, profile)])).to.include({ exitCode: 1 })
    }
  })
})

describe('a keychain without a collection, as on a server without a desktop', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  const keyring = perTest(() => startSecretService(sandbox, 'dismissed', false))

  const run = (args: string[]) => runProgram(sandbox, args, { env: keyring.env })
  const code = 'keychain_without_collection'

  it('causes an error before a request, with a hint for other ways to sign in', async () => {
    const login = await loginWithKey(sandbox, service, 'canary-1', { env: keyring.env })
    const { message, hint } = expectCode(login, code)
    expect(message).not.to.contain('locked')
    expect(hint).to.contain('CHATCTL_API_KEY').and.contain('--insecure-storage')
    expect(service.requests).to.deep.equal([])
  })

  it('causes an error before the browser opens', async () => {
    const words = ['auth', 'login', '--web', '-p', 'work', '--base-url', service.url, '--json']
    const login = await run([...words, '--auth-url', service.url, '--client-id', 'x', '--no-browser'])
    expectCode(login, code)
    expect(service.requests).to.deep.equal([])
  })

  it('is a warning in doctor for a profile that needs it, and is skipped otherwise', async () => {
    for (const profile of [[], ['-p', 'work']]) {
      if (profile.length > 0) await run(['config', 'set', 'base_url', service.url, ...profile])
      const doctor = await run(['doctor', ...profile, '--json'])
      const checks: { check: string; status: string; message: string }[] = JSON.parse(doctor.stdout)
      const keychain = checks.find(({ check }) => check === 'keychain')
      expect(keychain?.status).to.equal(profile.length > 0 ? 'warning' : 'skipped')
      expect(keychain?.message).to.contain('no default collection')
    }
  })
})

describe('a login without a keychain', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))

  const refused = async (env: NodeJS.ProcessEnv) => {
    const keysBefore = kernelKeys()
    const login = await loginWithKey(sandbox, service, 'canary-1', { env })
    const { message, hint } = expectCode(login, 'keychain_unavailable')
    expect(`${message} ${hint}`).to.contain('CHATCTL_API_KEY').and.contain('--insecure-storage')
    expect(login.stderr).not.to.contain('canary')
    // Without a keychain, the module would use the keyring of the kernel, which does not persist.
    expect(kernelKeys()).to.deep.equal(keysBefore)
    // .cache contains the compiled program.
    const left = readdirSync(sandbox.home, { recursive: true, encoding: 'utf8' })
    expect(left.filter((path) => !path.startsWith('.cache'))).to.deep.equal([])
    await runProgram(sandbox, ['config', 'set', 'base_url', service.url, '-p', 'work'], { env })
    const models = ['chat', 'models', '-p', 'work', '--json']
    expectCode(await runProgram(sandbox, models, { env }), 'keychain_unavailable')
    const withKey = { env: { ...env, CHATCTL_API_KEY: 'canary-2' } }
    expect(await runProgram(sandbox, models, withKey)).to.include({ exitCode: 0, stderr: '' })
  }

  it('fails and leaves nothing if the bus address has no listener', () => refused(noBus('dead address')))

  it('fails and leaves nothing if no bus address is set', () => refused(noBus('no address')))

  it('fails and leaves nothing if the bus has no Secret Service', async () => {
    const bus = await startSessionBus()
    try {
      await refused(bus.env)
    } finally {
      await bus.close()
    }
  })
})
