import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, json, type Script, silent, startScriptedServer } from '../../support/scripted-server.ts'

const run = promisify(execFile)
const models = json(200, { data: [{ id: 'small' }, { id: 'large' }, { id: 7 }] })

describe('chatctl complete', () => {
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  const server = perTest(startScriptedServer)

  /** Runs `complete` and returns stdout. The exit code is always 0, and stderr is always empty. */
  async function complete(words: readonly string[], options: RunOptions = {}): Promise<string> {
    const { exitCode, stdout, stderr } = await runChatctl(sandbox, ['complete', ...words], options)
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  async function serve(script: Script): Promise<RunOptions> {
    await server.serve(script)
    return { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'canary-key' } }
  }

  const modelFlag = ['--', 'chat', 'send', '--model', '']

  it('prints one value per line', async () => {
    expect(await complete(['--', 'chat', 'se'])).to.equal('send\nsessions\n')
    expect(await complete(['--next', '--', 'settings', 'api'])).to.equal('get\nset\n')
    expect(await complete(['--', 'nothing', 'known'])).to.equal('')
    expect(await complete([])).to.contain('doctor\n')
  })

  it('is hidden from the help, and completes --help instead of showing it', async () => {
    expect((await runChatctl(sandbox, ['--help'])).stdout).not.to.match(/^ {2}complete/m)
    expect(await complete(['--', 'doctor', '--help'])).to.equal('--help\n')
  })

  it('prints the completion syntax of each shell', async () => {
    const words = ['--', 'chat', 'sen']
    const described = (await complete(['--shell=fish', ...words])).split('\t')[1]?.trim() ?? ''
    expect(described).to.match(/^[A-Z].*[^.]$/)
    expect(await complete(['--shell=zsh', ...words])).to.equal(`words\n send:${described}\n`)
    expect(await complete(['--shell=powershell', ...words])).to.equal(`words\nsend\tsend\t${described}\n`)
    expect(await complete(['--shell=bash', '--', 'chatctl chat sen', ' '])).to.equal('words\nsend\n')
    const key = 'chatctl settings set features.chat'
    expect(await complete(['--shell=bash', '--', key, ' ='])).to.equal('words open\nfeatures.chat=\n')
    expect(await complete(['--shell=zsh', '--', 'settings', 'set', 'features.chat'])).to.match(/^\+features/m)
    expect(await complete(['--shell=zsh', '--', 'users', 'import', ''])).to.equal('files\n')
  })

  it('quotes values for PowerShell, and escapes colons for zsh', async () => {
    const odd = await serve(json(200, { data: [{ id: "it's $HOME: a\\b" }] }))
    const shown = await complete(['--shell=powershell', ...modelFlag], odd)
    expect(shown).to.equal("words\n'it''s $HOME: a\\b'\tit's $HOME: a\\b\tit's $HOME: a\\b\n")
    expect(await complete(['--shell=zsh', ...modelFlag], odd)).to.equal("words\n it's $HOME\\: a\\\\b\n")
  })

  it('quotes characters that a shell would interpret', async function () {
    if (process.platform === 'win32') return this.skip()
    const names = ['$(id)', '`id`', 'a;b', '{a,b}', '~root', 'x"y', "x'y", 'big\\', '!!', 'a&b>c']
    const options = await serve(json(200, { data: names.map((id) => ({ id })) }))
    const wanted = [...names].sort()
    for (const quote of ['', "'"]) {
      const words = ['--shell=bash', '--', `chatctl chat --model ${quote}`, ' ']
      const offered = (await complete(words, options)).split('\n').slice(1, -1)
      // How bash reads the words, each with its opening quote closed.
      const script = `set +H; printf '%s\\n' ${offered.map((word) => quote + word + quote).join(' ')}`
      const { stdout } = await run('bash', ['--norc', '-c', script])
      expect(stdout.split('\n').slice(0, -1), quote).to.deep.equal(wanted)
    }
    const forPowershell = await complete(['--shell=powershell', ...modelFlag], options)
    for (const line of forPowershell.split('\n').slice(1, -1)) expect(line).to.match(/^'([^']|'')+'\t/)
  })

  it('finds sessions by the words in them, and keeps the word if bash would replace it by a common beginning', async () => {
    for (const text of ['A frigate', 'The frigates', 'A lake']) {
      const { sessions } = new Directories(sandbox.env)
      const about = { profile: null, baseUrl: 'https://a.example/' }
      const writer = TranscriptWriter.create(sessions, about, systemClock)
      writer.append({ type: 'user', turn: 1, at: '2026-01-02T03:04:05Z', text })
      writer.append({ type: 'delta', turn: 1, text: 'It floats.' })
      writer.close()
    }
    const inBash = (typed: string) => complete(['--shell=bash', '--', `chatctl chat show ${typed}`, ' '])
    expect(await inBash('frigate')).to.equal('words\nA\\ frigate\nThe\\ frigates\nfrigate\n')
    expect(await inBash('float')).to.match(/^words\n(s\d\S+\n){3}float\n$/)
    const [found, row, ...more] = (await complete(['--shell=zsh', '--', 'chat', 'show', 'lak'])).split('\n')
    expect([found, more]).to.deep.equal(['found', ['']])
    expect(row).to.match(/^ A lake:2026-01-02 \d\d:\d\d · A lake · It floats\.$/)
  })

  it('requests the models of a service once, and caches them in a private file', async () => {
    const options = await serve(models)
    for (let time = 0; time < 3; time++) expect(await complete(modelFlag, options)).to.equal('large\nsmall\n')
    const shown = server.requests.map(({ method, path }) => `${method} ${path}`)
    expect(shown).to.deep.equal(['GET /v1/chat/models'])
    const directory = join(sandbox.home, '.cache', 'chatctl', 'cache', 'models')
    const [name = ''] = readdirSync(directory)
    if (process.platform !== 'win32') {
      expect(statSync(directory).mode & 0o777).to.equal(0o700)
      expect(statSync(join(directory, name)).mode & 0o777).to.equal(0o600)
    }
    expect(readFileSync(join(directory, name), 'utf8')).not.to.contain('canary')
  })

  it('caches no models in a directory that other users can write to', async function () {
    if (process.platform === 'win32') return this.skip()
    const options = await serve(models)
    const directory = join(sandbox.home, '.cache', 'chatctl', 'cache')
    mkdirSync(directory, { recursive: true })
    chmodSync(directory, 0o777)
    for (let time = 0; time < 2; time++) expect(await complete(modelFlag, options)).to.equal('large\nsmall\n')
    expect(server.requests).to.have.length(2)
    expect(readdirSync(directory)).to.deep.equal([])
  })

  it('gives up on a silent service, and sends it no second request for a while', async () => {
    const options = await serve(silent)
    expect(await complete(modelFlag, options)).to.equal('')
    expect(await complete(modelFlag, options)).to.equal('')
    expect(server.requests).to.have.length(1)
  })

  for (const [what, script] of [
    ['refuses the key', failing(401, 'unauthorized', 'No')],
    ['fails', failing(500, 'internal', 'No')],
    ['sends an invalid list', json(200, { data: 'x' })],
  ] as const)
    it(`offers no models if the service ${what}`, async () =>
      expect(await complete(modelFlag, await serve(script))).to.equal(''))

  it('offers the models of the model server for the embedded service, without starting it', async () => {
    await server.serve(models)
    writeFileSync(join(sandbox.home, 'key'), 'model-server-key\n', { mode: 0o600 })
    const keyFile = join(sandbox.home, 'key')
    const env = { CHATCTL_MODEL_SERVER: `${server.url}/v1`, CHATCTL_MODEL_SERVER_KEY_FILE: keyFile }
    for (let time = 0; time < 2; time++) expect(await complete(modelFlag, { env })).to.equal('large\nsmall\n')
    const asked = server.requests.map(({ method, path, headers }) => [method, path, headers['authorization']])
    expect(asked).to.deep.equal([['GET', '/v1/models', 'Bearer model-server-key']])
    expect(existsSync(join(sandbox.home, '.local', 'share', 'chatctl'))).to.equal(false)
  })

  it('does not start the embedded service', async () => {
    expect(await complete(modelFlag)).to.equal('')
    expect(await complete([...modelFlag.slice(0, -2), '-p', 'local', '--model', ''])).to.equal('')
    expect(existsSync(join(sandbox.home, '.local', 'share', 'chatctl'))).to.equal(false)
  })

  it('prints no error for an invalid configuration, profile, or environment', async () => {
    const directory = join(sandbox.home, '.config', 'chatctl')
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'config.json'), 'invalid')
    expect(await complete(['--', 'auth', 'use', ''])).to.equal('local\n')
    expect(await complete(modelFlag)).to.equal('')
    expect(await complete(['--', 'chat', 'send', '-p', 'unknown', '-m', ''])).to.equal('')
    const base = { CHATCTL_BASE_URL: 'https://user:canary@chat.example', CHATCTL_API_KEY: 'x' }
    const env = { HOME: '/dev/null', ...base }
    expect(await complete(modelFlag, { env })).to.equal('')
    expect(await complete(['--', 'chat', 'show', ''], { env })).to.equal('')
    const shown = await complete(['--', 'doct'], { env: { CHATCTL_TIMEOUT: 'x', CHATCTL_OUTPUT: 'x' } })
    expect(shown).to.equal('doctor\n')
  })

  it('describes each profile', async () => {
    const directory = join(sandbox.home, '.config', 'chatctl')
    mkdirSync(directory, { recursive: true })
    const profiles = { work: { base_url: 'https://chat.example' } }
    writeFileSync(join(directory, 'config.json'), JSON.stringify({ profiles }))
    const shown = await complete(['--shell=fish', '--', 'chat', '-p', ''])
    expect(shown).to.equal('words\nlocal\tThe embedded service\nwork\thttps://chat.example\n')
  })
})

describe('chatctl autocomplete', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)

  for (const shell of ['bash', 'zsh', 'fish'])
    it(`prints a script that ${shell} parses without errors, if ${shell} is installed`, async function () {
      if (!(await run(shell, ['--version']).catch(() => undefined))) return this.skip()
      const { stdout } = await runChatctl(sandbox, ['autocomplete', shell])
      const path = join(sandbox.home, `script.${shell}`)
      writeFileSync(path, stdout)
      expect((await run(shell, ['-n', path])).stderr).to.equal('')
    })
})
