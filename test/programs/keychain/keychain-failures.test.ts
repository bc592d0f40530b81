import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { kernelKeys } from './kernel-keys.ts'
import { noBus, startSessionBus } from './session-bus.ts'
import { attributesOf, expectCode, gnomeWorld, loginWithKey, storedKey } from './stored-key.ts'

const noText = Buffer.from([0xff, 0xfe, 0x00, 0x80])

describeSample('an unusable keychain', 2, () => {
  const { keychain, service, run, login, models, addProfile, store } = gnomeWorld()
  beforeEach(() => addProfile())

  it('causes exit code 4 for every command if it is locked and its dialog is dismissed', async () => {
    store(storedKey('canary-1'))
    keychain.lock()
    for (const line of ['chat models', 'auth status', 'auth token', 'auth logout'])
      expectCode(await run(`${line} -p work --json`), 'keychain_locked')
    expect(service.requests).to.deep.equal([])
    expectCode(await login('canary-2'), 'keychain_locked')
  })

  it('causes exit code 4 for a login if it is locked and empty, and its items are listed', async () => {
    keychain.lock()
    expectCode(await login('canary-2'), 'keychain_locked')
    // So a profile without an item is not signed in.
    expectCode(await models(), 'unauthorized')
  })

  it('causes an error with a hint if two items match, and neither is used', async () => {
    store(storedKey('canary-1'))
    store(storedKey('canary-2'), 'work', 'extra', 'x')
    const { message, hint } = expectCode(await models(), 'keychain_ambiguous')
    expect(`${message} ${hint}`).not.to.contain('canary')
    expect(hint).to.contain('secret-tool clear')
    expectCode(await login('canary-3'), 'keychain_ambiguous')
    keychain.secretTool(['clear', ...attributesOf(service)])
    expectCode(await models(), 'unauthorized')
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
      const failed = await models()
      expectCode(failed, 'keychain_unreadable')
      expect(failed.stderr).not.to.contain('canary')
      expect(service.requests).to.deep.equal([])
      const replaced = await login('canary-new')
      expect(replaced.exitCode, replaced.stderr).to.equal(0)
      expect(await models()).to.include({ exitCode: 0 })
    })
  }

  it('with an item of version 2 causes an error that names a newer chatctl', async () => {
    store('{"version":2,"kind":"api_key","key":"canary-1"}')
    const { message } = expectCode(await models(), 'keychain_unreadable')
    expect(message).to.match(/newer version of chatctl/)
  })

  it('can be cleaned by a logout if an item is invalid', async () => {
    for (const value of ['canary-garbage', noText]) {
      store(value)
      const logout = await run('auth logout -p work')
      expect(logout.exitCode, logout.stderr).to.equal(0)
      expect(logout.stderr).not.to.contain('canary')
      expectCode(await models(), 'unauthorized')
    }
  })
})

describeSample('a keychain with one unusable item', 1, () => {
  const { run, login, lookup, store } = gnomeWorld()
  beforeEach(async () => {
    for (const profile of ['first', 'work', 'last'])
      expect(await login('canary-1', { profile })).to.include({ exitCode: 0 })
  })

  for (const [title, value, ...more] of [
    ['unreadable', 'canary-garbage'],
    ['duplicate', storedKey('canary-2'), 'extra', 'x'],
  ] as const) {
    it(`has the other items listed by auth list, with one warning, if the item is ${title}`, async () => {
      store(value, 'work', ...more)
      const list = await run('auth list --json')
      expect(list.exitCode, list.stderr).to.equal(0)
      const rows: { profile: string; kind: string | null }[] = JSON.parse(list.stdout)
      const kinds = Object.fromEntries(rows.map(({ profile, kind }) => [profile, kind]))
      expect(kinds).to.deep.include({ first: 'api_key', work: null, last: 'api_key' })
      expect(list.stderr.match(/"warning"/g)).to.have.length(1)
      expect(list.stdout + list.stderr).not.to.contain('canary')
    })
  }

  it('has the other items deleted by auth logout --all before it fails', async () => {
    store(storedKey('canary-2'), 'work', 'extra', 'x')
    const logout = await run('auth logout --all --yes --json')
    expect(logout.exitCode, logout.stderr).to.equal(4)
    for (const profile of ['first', 'last']) expect(lookup(profile)).to.include({ exitCode: 1 })
  })
})

describeSample('a keychain without a collection, as on a server without a desktop', 1, () => {
  const { service, run, login, addProfile } = gnomeWorld({ hasKeyring: false })
  const code = 'keychain_without_collection'

  it('causes an error before a request, with a hint for other ways to sign in', async () => {
    const { message, hint } = expectCode(await login('canary-1'), code)
    expect(message).not.to.contain('locked')
    expect(hint).to.contain('CHATCTL_API_KEY').and.contain('--insecure-storage')
    expect(service.requests).to.deep.equal([])
  })

  it('causes an error before the browser opens', async () => {
    const parties = `--base-url ${service.url} --auth-url ${service.url} --client-id x`
    expectCode(await run(`auth login --web -p work ${parties} --json --no-browser`), code)
    expect(service.requests).to.deep.equal([])
  })

  it('is a warning in doctor for a profile that needs it, and is skipped otherwise', async () => {
    for (const [flags, status] of [
      ['', 'skipped'],
      [' -p work', 'warning'],
    ]) {
      if (flags !== '') await addProfile()
      const doctor = await run(`doctor${flags} --json`)
      const checks: { check: string; status: string; message: string }[] = JSON.parse(doctor.stdout)
      const found = checks.find(({ check }) => check === 'keychain')
      expect(found?.status).to.equal(status)
      expect(found?.message).to.contain('no default collection')
    }
  })
})

describeSample('a login without a keychain', 1, () => {
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

  for (const how of ['dead address', 'no address'] as const)
    it(`fails and leaves nothing if the bus has ${how}`, () => refused(noBus(how)))

  it('fails and leaves nothing if the bus has no Secret Service', async () => {
    await using bus = await startSessionBus()
    await refused(bus.env)
  })
})
