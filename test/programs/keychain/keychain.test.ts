import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { tryProcessLock } from '../../../src/system/files/process-lock.ts'
import { startBearerService, tokensSeen } from '../../support/handlers/bearer.ts'
import { describeSample } from '../../support/take-sample.ts'
import { Terminal } from '../terminal.ts'
import { attributesOf, expectCode, gnomeWorld, loginWithKey, storedKey } from './stored-key.ts'

describeSample('the keychain of a desktop', 2, () => {
  const world = gnomeWorld({}, (token) => token !== 'canary-refused')
  const { sandbox, keychain, service, run, login, models, addProfile, lookup, store } = world

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
    const found = keychain.secretTool(['search', '--all', 'service', `chatctl:${service.url}`])
    expect(found.stderr.match(/^attribute\..*$/gm)?.sort()).to.deep.equal([
      `attribute.service = chatctl:${service.url}`,
      'attribute.username = work',
    ])
    expect(found.stdout.match(/^\[/gm)).to.have.length(1)
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    expect(tokensSeen(service)).to.deep.equal(['canary-1', 'canary-1'])
  })

  it('is shown by auth status, auth list, and auth token', async () => {
    await login('canary-1')
    const status = await run('auth status --json')
    expect(JSON.parse(status.stdout)).to.include({ profile: 'work', storage: 'keychain', verified: true })
    const list = await run('auth list --json')
    expect(list.exitCode, list.stderr).to.equal(0)
    expect(list.stdout).to.contain('"keychain"').and.contain(`"${service.url}"`)
    expect(status.stdout + list.stdout).not.to.contain('canary')
    expect(await run('auth token')).to.deep.equal({ exitCode: 0, stdout: 'canary-1\n', stderr: '' })
  })

  it('is read if another program wrote the item', async () => {
    await addProfile()
    store(storedKey('canary-other'))
    expect(await models()).to.include({ exitCode: 0 })
    expect(tokensSeen(service)).to.deep.equal(['canary-other'])
  })

  it('stores a value of 20 kB completely', async () => {
    const key = `canary-${'0123456789abcdef'.repeat(1_250)}`
    // No server of Node accepts a header of this length.
    expect(await login(key, { flags: ['--no-verify'] })).to.include({ exitCode: 0 })
    expect(JSON.parse(lookup().stdout)).to.deep.equal(JSON.parse(storedKey(key, { isVerified: false })))
    expect((await run('auth token -p work')).stdout).to.equal(`${key}\n`)
  })

  it('stores a value and an address that are not ASCII', async () => {
    await addProfile()
    const scope = 'lesen schreiben-ü ☃ 🎉'
    const tokens = { access_token: 'canary-1', token_type: 'bearer', scope, client_id: 'é' }
    const issued = { issuer: service.url, token_endpoint: `${service.url}/token` }
    store(JSON.stringify({ version: 1, kind: 'oauth', ...tokens, ...issued }))
    const status = await run('auth status -p work --no-verify --json')
    expect(JSON.parse(status.stdout), status.stderr).to.include({ kind: 'oauth', scope })
    const at = { url: 'https://bücher.example/chat' }
    const key = await loginWithKey(sandbox, at, 'clé', { flags: ['--no-verify'], env: keychain.env })
    expect(key.exitCode, key.stderr).to.equal(0)
    const { stdout } = lookup('work', { url: 'https://xn--bcher-kva.example' })
    expect(JSON.parse(stdout)).to.deep.equal(JSON.parse(storedKey('clé', { isVerified: false })))
  })

  it('has one item after the next login too, without the old key', async () => {
    for (const key of ['canary-old', 'canary-new']) expect(await login(key)).to.include({ exitCode: 0 })
    const found = keychain.secretTool(['search', '--all', ...attributesOf(service)])
    expect(found.stdout.match(/^secret = .*$/gm)).to.have.length(1)
    expect(found.stdout).to.contain('canary-new').and.not.contain('canary-old')
  })

  it('keeps the old key if the service refuses the new one, or the profile cannot be written', async () => {
    await login('canary-old')
    expectCode(await login('canary-refused'), 'invalid_token')
    // Like another chatctl that changes the configuration and does not finish.
    const release = tryProcessLock(join(sandbox.home, '.config', 'chatctl', 'config.json.lock'))
    const failed = await login('canary-new')
    release?.()
    expect(failed.exitCode, failed.stderr).to.equal(1)
    expect(failed.stderr).to.contain('Another chatctl process is changing')
    expect(lookup().stdout).to.equal(storedKey('canary-old'))
  })

  it('has no item after a logout, and a second logout succeeds', async () => {
    await login('canary-1')
    await login('canary-2', { profile: 'other' })
    expect(await run('auth logout -p work')).to.include({ exitCode: 0 })
    expect(lookup()).to.include({ exitCode: 1, stdout: '' })
    expect(await run('auth logout -p work')).to.include({ exitCode: 0 })
    expectCode(await models(), 'unauthorized')
    expect(await run('chat models -p other')).to.include({ exitCode: 0 })
    expect(await run('auth logout --all --yes')).to.include({ exitCode: 0 })
    expect(lookup('other')).to.include({ exitCode: 1 })
  })

  it('does not return items of other programs, and works with them present', async () => {
    // Comes first, because gnome-keyring would treat it as a new version of any other item of this service.
    keychain.secretTool(['store', '--label=without a user', 'service', `chatctl:${service.url}`], 'of nobody')
    await login('canary-1')
    store('of another program', 'another')
    const all = keychain.secretTool(['search', '--all', 'service', `chatctl:${service.url}`])
    expect(all.stdout.match(/^secret = /gm)).to.have.length(3)
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    expect(await run('auth logout -p work')).to.include({ exitCode: 0 })
    expect(lookup('another').stdout).to.equal('of another program')
  })

  it('returns a credential only for the origin it was stored for', async () => {
    await using other = await startBearerService(() => true)
    await login('canary-1')
    service.requests.length = 0
    expectCode(await run(`chat models -p work --json --base-url ${other.url}`), 'unauthorized')
    expectCode(await models({ env: { CHATCTL_BASE_URL: other.url } }), 'unauthorized')
    await addProfile(other.url)
    for (const line of ['chat models', 'users profile', 'auth token'])
      expectCode(await run(`${line} -p work --json`), 'unauthorized')
    await run('auth status -p work')
    expect(tokensSeen(other).filter((sent) => sent !== '')).to.deep.equal([])
    expect(service.requests).to.deep.equal([])
    await addProfile()
    expect(await models()).to.include({ exitCode: 0 })
  })

  it('is not loaded if the environment has a key', async () => {
    await login('canary-1')
    const [recorder, record, keyFile] = ['recorder.cjs', 'loaded', 'key'].map((name) =>
      join(sandbox.home, name),
    )
    const dlopen = `const { dlopen } = process
process.dlopen = function (module, path, ...rest) {
  require('node:fs').appendFileSync(${JSON.stringify(record)}, path + '\\n')
  return dlopen.call(process, module, path, ...rest)
}\n`
    writeFileSync(`${recorder}`, dlopen)
    writeFileSync(`${keyFile}`, 'canary-3\n')
    const loaded = async (env: NodeJS.ProcessEnv) => {
      writeFileSync(`${record}`, '')
      const { exitCode, stderr } = await models({ env: { NODE_OPTIONS: `--require=${recorder}`, ...env } })
      expect(exitCode, stderr).to.equal(0)
      return readFileSync(`${record}`, 'utf8')
    }
    expect(await loaded({})).to.match(/keyring/)
    expect(await loaded({ CHATCTL_API_KEY: 'canary-2' })).not.to.match(/keyring/)
    expect(await loaded({ CHATCTL_API_KEY_FILE: keyFile })).not.to.match(/keyring/)
    expect(tokensSeen(service).slice(2)).to.deep.equal(['canary-2', 'canary-3'])
  })
})

describeSample('a keychain in a terminal', 1, () => {
  const { sandbox, keychain, addProfile, lookup, store } = gnomeWorld({ dialog: 'unanswered' })
  let terminal: Terminal | undefined
  beforeEach(() => addProfile())
  afterEach(() => terminal?.kill())

  const start = (line: string) => {
    terminal = new Terminal(sandbox, line.split(' '), keychain.env)
    return terminal
  }
  const lockWithKey = () => {
    store(storedKey('canary-1'))
    keychain.lock()
  }

  it('stores a key that is prompted for and never shown', async () => {
    const login = start('auth login --with-api-key -p work')
    await login.waitFor('API key:')
    login.type('canary-typed\r')
    expect(await login.end(), login.shown).to.equal(0)
    expect(login.shown).not.to.contain('canary')
    expect(lookup().stdout).to.equal(storedKey('canary-typed'))
  })

  it('stores nothing after Ctrl-C at the prompt: exit 130', async () => {
    const login = start('auth login --with-api-key -p work')
    await login.waitFor('API key:')
    login.type('canary')
    login.type('\u0003')
    expect(await login.end()).to.equal(130)
    expect(login.shown).not.to.match(/canary|Error|This is a bug/)
    expect(lookup()).to.include({ exitCode: 1, stdout: '' })
  })

  it('ends immediately after Ctrl-C while its dialog is open: exit 130', async () => {
    lockWithKey()
    const models = start('chat models -p work')
    await models.waitFor('Waiting for the keychain')
    const pressed = performance.now()
    models.type('\u0003')
    expect(await models.end(), models.shown).to.equal(130)
    expect(performance.now() - pressed).to.be.below(1_000)
    expect(models.shown).not.to.match(/Error|This is a bug/)
  })

  it('leaves a person 30 s for its dialog', async () => {
    lockWithKey()
    const started = performance.now()
    const models = start('chat models -p work')
    expect(await models.end(), models.shown).to.equal(4)
    expect(performance.now() - started).to.be.within(29_000, 35_000)
    expect(models.shown.match(/Waiting for the keychain/g)).to.have.length(1)
  })
})
