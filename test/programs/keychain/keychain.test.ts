import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { tryProcessLock } from '../../../src/system/files/process-lock.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import type { RunOptions } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { bind, Terminal } from '../terminal.ts'
import { startSecretService } from './secret-service.ts'
import {
  attributesOf,
  credentialsSeen,
  expectCode,
  type KeyLogin,
  loginWithKey,
  storedKey,
} from './stored-key.ts'

describeSample('the keychain of a desktop', 2, () => {
  const sandbox = perTest(createSandbox)
  const keyring = perTest(() => startSecretService(sandbox))
  const service = perTest(() => startBearerService((token) => token !== 'canary-refused'))

  const run = (args: string[], options: RunOptions = {}) =>
    runProgram(sandbox, args, { ...options, env: { ...keyring.env, ...options.env } })
  const login = (key: string, options: KeyLogin = {}) =>
    loginWithKey(sandbox, service, key, { ...options, env: { ...keyring.env, ...options.env } })
  const lookup = (at = service.url, profile = 'work') =>
    keyring.secretTool(['lookup', ...attributesOf({ url: at }, profile)])
  const store = (value: string, profile = 'work', ...more: string[]) => {
    const words = ['store', '--label=of a test', ...attributesOf(service, profile), ...more]
    expect(keyring.secretTool(words, value)).to.include({ exitCode: 0 })
  }
  const addProfile = async (url: string, profile = 'work') =>
    expect(await run(['config', 'set', 'base_url', url, '--profile', profile])).to.include({ exitCode: 0 })

  it('has one item after a login, by origin and profile, which requests use', async () => {
    const { exitCode, stdout, stderr } = await login('canary-1')
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    expect(JSON.parse(stdout)).to.deep.include({
      profile: 'work',
      base_url: service.url,
      kind: 'api_key',
      storage: 'keychain',
      verified: true,
      user: { id: 'u1', email: 'ada@example.com', name: 'Ada' },
    })
    expect(stdout).not.to.contain('canary')
    expect(JSON.parse(lookup().stdout)).to.deep.equal(JSON.parse(storedKey('canary-1')))
    const found = keyring.secretTool(['search', '--all', 'service', `chatctl:${service.url}`])
    expect(found.stderr.match(/^attribute\..*$/gm)?.sort()).to.deep.equal([
      `attribute.service = chatctl:${service.url}`,
      'attribute.username = work',
    ])
    expect(found.stdout.match(/^\[/gm)).to.have.length(1)
    expect(await run(['chat', 'models', '--profile', 'work'])).to.include({ exitCode: 0, stderr: '' })
    expect(credentialsSeen(service)).to.deep.equal(['Bearer canary-1', 'Bearer canary-1'])
  })

  it('is shown by auth status, auth list, and auth token', async () => {
    await login('canary-1')
    const status = await run(['auth', 'status', '--json'])
    expect(JSON.parse(status.stdout)).to.include({ profile: 'work', storage: 'keychain', verified: true })
    const list = await run(['auth', 'list', '--json'])
    expect(list.exitCode, list.stderr).to.equal(0)
    expect(list.stdout).to.contain('"keychain"').and.contain(`"${service.url}"`)
    expect(status.stdout + list.stdout).not.to.contain('canary')
    expect(await run(['auth', 'token'])).to.deep.equal({ exitCode: 0, stdout: 'canary-1\n', stderr: '' })
  })

  it('is read if another program wrote the item', async () => {
    await addProfile(service.url)
    store(storedKey('canary-other'))
    expect(await run(['chat', 'models', '-p', 'work'])).to.include({ exitCode: 0 })
    expect(credentialsSeen(service)).to.deep.equal(['Bearer canary-other'])
  })

  it('stores a value of 20 kB completely', async () => {
    const key = `canary-${'0123456789abcdef'.repeat(1_250)}`
    // No server of Node accepts a header of this length.
    expect(await login(key, { flags: ['--no-verify'] })).to.include({ exitCode: 0 })
    expect(JSON.parse(lookup().stdout)).to.deep.equal(JSON.parse(storedKey(key, { isVerified: false })))
    expect((await run(['auth', 'token', '-p', 'work'])).stdout).to.equal(`${key}\n`)
  })

  it('stores a value and an address that are not ASCII', async () => {
    await addProfile(service.url)
    const scope = 'lesen schreiben-ü ☃ 🎉'
    const tokens = {
      access_token: 'canary-1',
      token_type: 'bearer',
      scope,
      client_id: 'é',
      issuer: service.url,
    }
    store(JSON.stringify({ version: 1, kind: 'oauth', ...tokens, token_endpoint: `${service.url}/token` }))
    const status = await run(['auth', 'status', '-p', 'work', '--no-verify', '--json'])
    expect(JSON.parse(status.stdout), status.stderr).to.include({ kind: 'oauth', scope })
    const at = 'https://bücher.example/chat'
    const key = await loginWithKey(sandbox, { url: at }, 'clé', { flags: ['--no-verify'], env: keyring.env })
    expect(key.exitCode, key.stderr).to.equal(0)
    const { stdout } = lookup('https://xn--bcher-kva.example')
    expect(JSON.parse(stdout)).to.deep.equal(JSON.parse(storedKey('clé', { isVerified: false })))
  })

  it('has one item after the next login too, without the old key', async () => {
    for (const key of ['canary-old', 'canary-new']) expect(await login(key)).to.include({ exitCode: 0 })
    const found = keyring.secretTool(['search', '--all', ...attributesOf(service)])
    expect(found.stdout.match(/^secret = .*$/gm)).to.have.length(1)
    expect(found.stdout).to.contain('canary-new').and.not.contain('canary-old')
  })

  it('keeps the old key if the service refuses the new one', async () => {
    await login('canary-old')
    expectCode(await login('canary-refused'), 'invalid_token')
    expect(JSON.parse(lookup().stdout)).to.deep.equal(JSON.parse(storedKey('canary-old')))
  })

  it('keeps the old key if the profile cannot be written', async () => {
    await login('canary-old')
    // Like another chatctl that changes the configuration and does not finish.
    const lock = join(sandbox.home, '.config', 'chatctl', 'config.json.lock')
    const release = tryProcessLock(lock)
    const failed = await login('canary-new')
    release?.()
    expect(failed.exitCode, failed.stderr).to.equal(1)
    expect(failed.stderr).to.contain('Another chatctl process is changing')
    expect(lookup().stdout).to.equal(storedKey('canary-old'))
  })

  it('has no item after a logout, and a second logout succeeds', async () => {
    await login('canary-1')
    await login('canary-2', { profile: 'other' })
    expect(await run(['auth', 'logout', '-p', 'work'])).to.include({ exitCode: 0 })
    expect(lookup()).to.include({ exitCode: 1, stdout: '' })
    expect(await run(['auth', 'logout', '-p', 'work'])).to.include({ exitCode: 0 })
    expectCode(await run(['chat', 'models', '-p', 'work', '--json']), 'unauthorized')
    expect(await run(['chat', 'models', '-p', 'other'])).to.include({ exitCode: 0 })
    expect(await run(['auth', 'logout', '--all', '--yes'])).to.include({ exitCode: 0 })
    expect(lookup(service.url, 'other')).to.include({ exitCode: 1 })
  })

  it('does not return items of other programs, and works with them present', async () => {
    // Comes first, because gnome-keyring would treat it as a new version of any other item of this service.
    keyring.secretTool(['store', '--label=without a user', 'service', `chatctl:${service.url}`], 'of nobody')
    await login('canary-1')
    store('of another program', 'another')
    const all = keyring.secretTool(['search', '--all', 'service', `chatctl:${service.url}`])
    expect(all.stdout.match(/^secret = /gm)).to.have.length(3)
    expect(await run(['chat', 'models', '-p', 'work'])).to.include({ exitCode: 0, stderr: '' })
    expect(await run(['auth', 'logout', '-p', 'work'])).to.include({ exitCode: 0 })
    expect(lookup(service.url, 'another').stdout).to.equal('of another program')
  })

  it('returns a credential only for the origin it was stored for', async () => {
    await using other = await startBearerService(() => true)
    await login('canary-1')
    service.requests.length = 0
    const models = ['chat', 'models', '-p', 'work', '--json']
    expectCode(await run([...models, '--base-url', other.url]), 'unauthorized')
    expectCode(await run(models, { env: { CHATCTL_BASE_URL: other.url } }), 'unauthorized')
    await addProfile(other.url)
    for (const args of [
      models,
      ['users', 'profile', '-p', 'work', '--json'],
      ['auth', 'token', '-p', 'work', '--json'],
    ]) {
      expectCode(await run(args), 'unauthorized')
    }
    await run(['auth', 'status', '-p', 'work'])
    expect(credentialsSeen(other).filter((sent) => sent !== undefined)).to.deep.equal([])
    expect(service.requests).to.deep.equal([])
    await addProfile(service.url)
    expect(await run(models)).to.include({ exitCode: 0 })
  })

  it('is not loaded if the environment has a key', async () => {
    await login('canary-1')
    const recorder = join(sandbox.home, 'recorder.cjs')
    const record = join(sandbox.home, 'loaded')
    writeFileSync(
      recorder,
      `const { dlopen } = process
process.dlopen = function (module, path, ...rest) {
  require('node:fs').appendFileSync(${JSON.stringify(record)}, path + '\\n')
  return dlopen.call(process, module, path, ...rest)
}\n`,
    )
    const loaded = async (env: NodeJS.ProcessEnv) => {
      writeFileSync(record, '')
      const models = await run(['chat', 'models', '-p', 'work'], {
        env: { NODE_OPTIONS: `--require=${recorder}`, ...env },
      })
      expect(models.exitCode, models.stderr).to.equal(0)
      return readFileSync(record, 'utf8')
    }
    expect(await loaded({})).to.match(/keyring/)
    const keyFile = join(sandbox.home, 'key')
    writeFileSync(keyFile, 'canary-3\n')
    expect(await loaded({ CHATCTL_API_KEY: 'canary-2' })).not.to.match(/keyring/)
    expect(await loaded({ CHATCTL_API_KEY_FILE: keyFile })).not.to.match(/keyring/)
    expect(credentialsSeen(service).slice(2)).to.deep.equal(['Bearer canary-2', 'Bearer canary-3'])
  })
})

describeSample('a keychain in a terminal', 2, () => {
  const sandbox = perTest(createSandbox)
  const keyring = perTest(() => startSecretService(sandbox, 'unanswered'))
  const service = perTest(() => startBearerService(() => true))
  let terminal: Terminal | undefined
  beforeEach(async () => {
    await runProgram(sandbox, ['config', 'set', 'base_url', service.url, '-p', 'work'])
  })
  afterEach(() => {
    terminal?.kill()
  })

  const start = (...args: string[]) => {
    terminal = new Terminal(sandbox, args, keyring.env)
    return bind(terminal)
  }
  const lookup = () => keyring.secretTool(['lookup', ...attributesOf(service)])
  const lockWithKey = () => {
    keyring.secretTool(['store', '--label=of a test', ...attributesOf(service)], storedKey('canary-1'))
    keyring.lock()
  }

  it('stores a key that is prompted for and never shown', async () => {
    const { type, waitFor, end } = start('auth', 'login', '--with-api-key', '-p', 'work')
    await waitFor('API key:')
    type('canary-typed\r')
    expect(await end(), terminal?.shown).to.equal(0)
    expect(terminal?.shown).not.to.contain('canary')
    expect(lookup().stdout).to.equal(storedKey('canary-typed'))
  })

  it('stores nothing after Ctrl-C at the prompt: exit 130', async () => {
    const { type, waitFor, end } = start('auth', 'login', '--with-api-key', '-p', 'work')
    await waitFor('API key:')
    type('canary')
    type('\u0003')
    expect(await end()).to.equal(130)
    expect(terminal?.shown).not.to.match(/canary|Error|This is a bug/)
    expect(lookup()).to.include({ exitCode: 1, stdout: '' })
  })

  it('ends immediately after Ctrl-C while its dialog is open: exit 130', async () => {
    lockWithKey()
    const { type, waitFor, end } = start('chat', 'models', '-p', 'work')
    await waitFor('Waiting for the keychain')
    const pressed = performance.now()
    type('\u0003')
    expect(await end(), terminal?.shown).to.equal(130)
    expect(performance.now() - pressed).to.be.below(1_000)
    expect(terminal?.shown).not.to.match(/Error|This is a bug/)
  })

  it('leaves a person 30 s for its dialog', async () => {
    lockWithKey()
    const started = performance.now()
    const { end } = start('chat', 'models', '-p', 'work')
    expect(await end(), terminal?.shown).to.equal(4)
    expect(performance.now() - started).to.be.within(29_000, 35_000)
    expect(terminal?.shown.match(/Waiting for the keychain/g)).to.have.length(1)
  })
})
