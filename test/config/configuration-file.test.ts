import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Configuration, changeConfiguration } from '../../src/config/configuration-file.ts'
import { normalizeDirectory, profileHere } from '../../src/config/profile-directories.ts'
import { parseQuota } from '../../src/config/quota.ts'
import { resolveModelServer } from '../../src/config/resolve-model-server.ts'
import { parseFutureTime, parsePastTime } from '../../src/config/units.ts'
import { Failure } from '../../src/contract/failure.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { tryProcessLock } from '../../src/system/files/process-lock.ts'
import { type ServiceCall, serviceCalls } from '../support/command-lines.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'

describe('the configuration file', () => {
  const sandbox = perTest(createSandbox)
  let directory: string
  let file: string
  beforeEach(() => {
    directory = join(sandbox.home, '.config', 'chatctl')
    file = join(directory, 'config.json')
  })

  const write = (content: string | Uint8Array) => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(file, content)
  }
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const stored = () => JSON.parse(readFileSync(file, 'utf8'))

  const broken: [content: string | Uint8Array, words: string][] = [
    ['{"profiles": {', 'is not valid JSON: '],
    ['', 'is not valid JSON: '],
    [Buffer.from([0xff, 0xfe, 0x00]), 'is not valid JSON: '],
    ['[]', 'the file must be an object'],
    ['{"profile": {}}', 'profile is not a known field'],
    ['{"profiles":{"w":{"api_key":"x"}}}', 'profiles.w.api_key is not a known field'],
    ['{"profiles":{"w":{"timeout":5}}}', 'profiles.w.timeout must be a string'],
  ]
  describe('that names a credential command', () => {
    const profile = { base_url: 'http://127.0.0.1:9', credential_command: 'touch mark' }
    beforeEach(function () {
      if (process.platform === 'win32') this.skip()
      write(JSON.stringify({ default_profile: 'w', profiles: { w: profile } }))
    })

    async function expectRefusal(why: string): Promise<void> {
      for (const args of [['chat', 'models'], ['config', 'list'], ['doctor']]) {
        const { exitCode, stdout, stderr } = await run(...args)
        expect(exitCode).to.equal(2)
        expect(stdout + stderr).to.contain(`names a credential command, and is not used: ${why}`)
      }
      expect(existsSync(join(sandbox.home, 'mark'))).to.equal(false)
    }

    for (const mode of [0o620, 0o602, 0o666])
      it(`is not used if other users can write to it: mode ${mode.toString(8)}`, async () => {
        chmodSync(file, mode)
        await expectRefusal('other users can write to it ')
      })

    it('is not used if other users can replace it in its directory, or in that of its target', async () => {
      chmodSync(directory, 0o777)
      await expectRefusal(`other users can write to ${directory} `)
      chmodSync(directory, 0o700)
      const shared = join(sandbox.home, 'shared')
      mkdirSync(shared)
      chmodSync(shared, 0o777)
      renameSync(file, join(shared, 'config.json'))
      symlinkSync(join(shared, 'config.json'), file)
      await expectRefusal(`other users can write to ${shared} `)
      chmodSync(shared, 0o1777)
      expect(await run('config', 'list')).to.include({ exitCode: 0 })
    })

    it('is not used if it, or its directory, belongs to another user', async function () {
      if (process.getuid?.() !== 0) this.skip()
      for (const part of [file, directory]) {
        chownSync(part, 1234, 1234)
        await expectRefusal(`${part === file ? 'it' : part} belongs to another user`)
        chownSync(part, 0, 0)
      }
      expect(await run('config', 'list')).to.include({ exitCode: 0 })
    })
  })

  for (const [content, words] of broken)
    it(`stays unchanged if it is ${JSON.stringify(content)}, and the error says where: exit 2`, async () => {
      write(content)
      for (const line of [
        'history list',
        'config list',
        'config set model x -p new',
        'chat send hi -p local',
      ]) {
        expectFailure(await run(...line.split(' ')), 2, words, file)
        expect(readFileSync(file).equals(Buffer.from(content))).to.equal(true)
      }
      expect(readdirSync(directory)).to.deep.equal(['config.json'])
    })

  it('causes an error that names profile, key, and file if a value is invalid', async () => {
    write('{"profiles":{"w":{"timeout":"soon"},"x":{"base_url":"http://chat.example"}}}')
    expectFailure(await run('history', 'list', '-p', 'w'), 2, 'profile w, timeout: "soon"', file)
    expectFailure(await run('history', 'list', '-p', 'x'), 2, 'profile x, base_url: http://', file)
  })

  it('causes an error that names the file if its default profile does not exist, and can be fixed', async () => {
    write('{"default_profile":"gone"}')
    expectFailure(await run('history', 'list'), 2, `default_profile in ${file}: unknown profile "gone"`)
    expect(await run('config', 'set', 'default_profile', 'local')).to.include({ exitCode: 0 })
    expect(await run('config', 'list')).to.include({ exitCode: 0 })
  })

  it('gets mode 0600 in a directory with mode 0700', async () => {
    expect(await run('config', 'set', 'model', 'm')).to.include({ exitCode: 0 })
    chmodSync(file, 0o644)
    expect(await run('config', 'set', 'model', 'n')).to.include({ exitCode: 0 })
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    expect(statSync(directory).mode & 0o777).to.equal(0o700)
  })

  it('applies keys set without a profile to the profile local, but not with --base-url', async () => {
    await run('config', 'set', 'model', 'mine')
    expect(await run('config', 'get', 'model')).to.include({ stdout: 'mine\n' })
    expect(await run('config', 'get', 'model', '-p', 'local')).to.include({ stdout: 'mine\n' })
    const away = await run('config', 'get', 'model', '--base-url', 'https://chat.example')
    expect(away).to.include({ exitCode: 0, stdout: '\n' })
  })

  it('keeps the changes of twelve concurrent runs of config set', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `p${index}`)
    const set = (name: string) => run('config', 'set', 'model', `of-${name}`, '-p', name)
    for (const done of await Promise.all(names.map(set))) expect(done).to.include({ exitCode: 0, stderr: '' })
    const shown = stored().profiles
    expect(shown).to.deep.equal(Object.fromEntries(names.map((name) => [name, { model: `of-${name}` }])))
    expect(readdirSync(directory)).to.deep.equal(['config.json'])
  })

  it('is not changed while another process holds the lock, which the hint names', async () => {
    write('{}')
    const release = tryProcessLock(`${file}.lock`)
    const directories = new Directories(sandbox.env)
    const held = await changeConfiguration(directories, () => ({}), 50).catch((error: Failure) => error)
    release?.()
    expect(held).to.include({ kind: 'storage', message: `Another chatctl process is changing ${file}` })
    expect(held).to.have.property('hint').that.contains(`${file}.lock`)
    expect(readFileSync(file, 'utf8')).to.equal('{}')
  })

  const refused: [args: string[], ...words: string[]][] = [
    [['base_ur', 'https://x'], 'Unknown configuration option "base_ur"', 'Did you mean base_url?'],
    [['base_url', '', '-p', 'w'], 'base_url: "" must not be empty'],
    [['base_url', 'chat.example', '-p', 'w'], 'the address is not a URL'],
    [['base_url', 'http://chat.example', '-p', 'w'], 'unencrypted', 'https://chat.example'],
    [['base_url', 'https://a:b@chat.example', '-p', 'w'], 'contains a user name or password'],
    [['base_url', 'https://chat.example'], 'Profile "local" is the embedded service'],
    [['auth_url', 'http://chat.example', '-p', 'w'], 'auth_url: http://'],
    [['timeout', '0', '-p', 'w'], 'timeout: "0" must be longer than 0'],
    [['notify', 'x', '-p', 'w'], 'notify: "x" is neither on nor off'],
    [['default_profile', 'nope'], 'Unknown profile "nope"'],
    [['model', 'm', '-p', 'a b'], '"a b" is not a valid profile name'],
    [['model', 'm', '-p=--yes'], '"--yes" is not a valid profile', 'must not be a hyphen'],
    [['model', 'm', '-p', '../w'], '"../w" is not a valid profile'],
    [['model', 'm', '-p', '__proto__'], '"__proto__" is not a valid profile'],
  ]
  it('never contains a value that no run could use', async () => {
    for (const [args, ...words] of refused) expectFailure(await run('config', 'set', ...args), 2, ...words)
    expect(existsSync(directory)).to.equal(false)
  })
})

describe('a model alias', () => {
  const world = perTest(createSandbox)
  const run = (words: string, options: Parameters<typeof runChatctl>[2] = {}) =>
    runChatctl(world, words.split(' '), options)
  /** The model of the request that the words would send. */
  const modelOf = async (words: string, env: NodeJS.ProcessEnv = {}) => {
    const { stdout, stderr } = await run(`${words} --dry-run --json`, { env })
    expect(stderr).to.equal('')
    return JSON.parse(stdout).body.model
  }

  it('is set, listed, and removed like another key of the profile', async () => {
    const { stdout } = await run('config set alias.fast=llama3.2:3b')
    expect(stdout).to.equal('local\talias.fast\tllama3.2:3b\n')
    expect((await run('config get alias.fast')).stdout).to.equal('llama3.2:3b\n')
    expect((await run('config list')).stdout).to.contain('alias.fast\tllama3.2:3b\tprofile\tprofile local\n')
    await run('config set model fast')
    const hint = 'config unset model'
    expectFailure(await run('config unset alias.fast'), 2, 'is the model of profile "local"', hint)
    await run('config unset model')
    expect((await run('config unset alias.fast')).stdout).to.equal('local\talias.fast\t\n')
    expect((await run('config get alias.fast')).stdout).to.equal('\n')
  })

  it('selects its model in every place that names a model', async () => {
    await run('config set alias.fast small-1')
    expect(await modelOf('chat send hi -m fast')).to.equal('small-1')
    expect(await modelOf('chat complete hi --model fast')).to.equal('small-1')
    expect(await modelOf('chat send hi', { CHATCTL_MODEL: 'fast' })).to.equal('small-1')
    await run('config set model fast')
    expect(await modelOf('chat send hi')).to.equal('small-1')
    const shown = (await run('config list')).stdout
    expect(shown).to.contain('model\tsmall-1\tprofile\tprofile local, alias fast\n')
    await run('chat prompts set p', { stdin: '---\nmodel: fast\n---\nHi' })
    expect(await modelOf('chat send --prompt p')).to.equal('small-1')
    expect(await modelOf('chat send --prompt p', { CHATCTL_MODEL: 'large' })).to.equal('large')
    expect(await modelOf('chat send --prompt p -m large')).to.equal('large')
  })

  it('takes precedence over a model with its name, and applies once', async () => {
    await run('config set alias.a b')
    await run('config set alias.b c')
    expect(await modelOf('chat send hi -m a')).to.equal('b')
    expect(await modelOf('chat send hi -m b')).to.equal('c')
    expect(await modelOf('chat send hi -m constructor')).to.equal('constructor')
  })

  it('belongs to its profile', async () => {
    await run('config set alias.fast small-1 --profile local')
    await run('config set base_url https://chat.example --profile work')
    await run('config set alias.fast large-1 --profile work')
    const env = { CHATCTL_API_KEY: 'x' }
    expect(await modelOf('chat send hi -m fast')).to.equal('small-1')
    expect(await modelOf('chat send hi -m fast --profile work', env)).to.equal('large-1')
    expect(await modelOf('chat send hi -m fast --base-url https://chat.example', env)).to.equal('fast')
  })

  it('is refused for an invalid name, another alias, or an empty model', async () => {
    await run('config set alias.fast small-1')
    expectFailure(await run('config set alias.quick fast'), 2, '"fast" is an alias, not a model', 'small-1')
    for (const name of ['', '-x', '__proto__', 'a/b', 'x'.repeat(65)])
      expectFailure(await run(`config set alias.${name} x`), 2, `"${name}" is not a valid alias`)
    expectFailure(await run('config set alias.x='), 2, 'must not be empty')
    expect((await run('config list --jq length')).exitCode).to.equal(0)
  })
})

describe('config with a key that belongs to no profile', () => {
  const sandbox = perTest(createSandbox)
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const file = () => join(sandbox.home, '.config', 'chatctl', 'config.json')
  const stored = () => JSON.parse(readFileSync(file(), 'utf8'))

  it('sets, shows, and removes it, whatever the default profile is', async () => {
    await run('config', 'set', 'base_url', 'https://chat.example', '--profile', 'work')
    await run('config', 'set', 'default_profile', 'work')
    const set = await run('config', 'set', 'model_server=ollama', '--json')
    expect(JSON.parse(set.stdout)).to.deep.equal({ profile: null, key: 'model_server', value: 'ollama' })
    expect(stored()).to.deep.include({ model_server: 'ollama', default_profile: 'work' })
    expect(stored().profiles).to.deep.equal({ work: { base_url: 'https://chat.example' } })
    expect((await run('config', 'get', 'model_server')).stdout).to.equal('ollama\n')
    await run('config', 'unset', 'model_server')
    expect(stored()).not.to.have.property('model_server')
    expect((await run('config', 'get', 'model_server')).stdout).to.equal('\n')
  })

  it('is refused with --profile, which would suggest that other profiles do not have it', async () => {
    for (const words of ['set model_server ollama', 'unset model_server']) {
      const failed = await run('config', ...words.split(' '), '--profile', 'local')
      expectFailure(failed, 2, 'model_server belongs to no profile', 'Omit --profile')
    }
    expect(existsSync(file())).to.equal(false)
  })

  it('stores the path of a key file as an absolute path', async () => {
    await run('config', 'set', 'model_server=ollama')
    await run('config', 'set', 'model_server_key_file', 'up.key')
    expect(stored().model_server_key_file).to.equal(join(sandbox.home, 'up.key'))
  })

  const changes: [title: string, keeps: boolean, ...args: string[]][] = [
    ['is kept with another path of the same origin', true, 'set', 'model_server=https://a.example/v2'],
    ['is removed with another origin', false, 'set', 'model_server=https://b.example/v1'],
    ['is removed with a name', false, 'set', 'model_server=ollama'],
    ['is removed with none', false, 'set', 'model_server=none'],
    ['is removed without the model server', false, 'unset', 'model_server'],
  ]
  for (const [title, keeps, ...args] of changes)
    it(`the key file ${title}`, async () => {
      await run('config', 'set', 'model_server=https://a.example/v1')
      await run('config', 'set', 'model_server_key_file', 'up.key')
      const before = stored()
      const planned = await run('config', ...args, '--dry-run')
      expect(stored()).to.deep.equal(before)
      const { stderr } = await run('config', ...args)
      expect('model_server_key_file' in stored()).to.equal(keeps)
      const words = 'model_server_key_file, the API key for https://a.example/v1\n'
      expect(planned.stderr).to.equal(keeps ? '' : `Would remove ${words}`)
      expect(stderr).to.equal(keeps ? '' : `Removed ${words}`)
    })

  it('refuses a key file without a stored model server, which could then be any', async () => {
    const hint = 'Set it first with: chatctl config set model_server=URL'
    for (const before of ['unset model_server', 'set model_server=none']) {
      await run('config', ...before.split(' '))
      const refused = await run('config', 'set', 'model_server_key_file', 'up.key')
      expectFailure(refused, 2, 'but none is stored', hint)
    }
  })

  const wrong: [value: string, ...words: string[]][] = [
    ['upstream=ollama', 'Unknown configuration option "upstream"', 'Did you mean model_server?'],
    ['model_server=olama', 'Did you mean ollama?', 'none'],
    ['model_server=127.0.0.1:11434', 'must be an http:// or https:// URL'],
    ['model_server=ftp://127.0.0.1/v1', 'must be an http:// or https:// URL'],
    ['model_server=', 'must not be empty'],
  ]
  for (const [change, ...words] of wrong)
    it(`refuses ${change}, and stores nothing`, async () => {
      expectFailure(await run('config', 'set', change), 2, ...words)
      expect(existsSync(file())).to.equal(false)
    })
})

/** An address, and the key file for it. */
type Level = readonly [modelServer?: string | undefined, keyFile?: string]

function resolve({ flag = [], env = [], stored = [] }: { flag?: Level; env?: Level; stored?: Level }) {
  const configuration: Configuration = {
    ...(stored[0] && { model_server: stored[0] }),
    ...(stored[1] && { model_server_key_file: stored[1] }),
  }
  const given = { ...(flag[0] && { modelServer: flag[0] }), ...(flag[1] && { keyFile: flag[1] }) }
  const variables = { CHATCTL_MODEL_SERVER: env[0], CHATCTL_MODEL_SERVER_KEY_FILE: env[1] }
  return resolveModelServer({ ...given, name: '--model-server' }, variables, configuration, (name) => name)
}

const a = 'https://a.example/v1'
const b = 'https://b.example/v1'

describe('the model server', () => {
  it('comes from the flag, the environment, or the configuration, in this order', () => {
    const stored: Level = ['ollama']
    const shown = resolve({ flag: [a], env: [b], stored })
    expect(shown).to.deep.include({ source: 'flag', from: '--model-server' })
    expect(resolve({ env: [b], stored }).server?.url).to.equal(b)
    expect(resolve({ stored }).server?.url).to.equal('http://127.0.0.1:11434/v1')
    expect(resolve({})).to.deep.equal({ server: undefined, source: 'default', from: '' })
  })

  it('can be none at each level, which differs from never chosen', () => {
    const shown = resolve({ flag: ['none'], stored: [a] })
    expect(shown).to.deep.include({ server: undefined, source: 'flag' })
    expect(resolve({ stored: ['none'] }).source).to.equal('profile')
  })

  const own = 'of the environment'
  const kept = 'of the configuration'
  const none = undefined
  const keys: [title: string, given: Parameters<typeof resolve>[0], keyFile: string | undefined][] = [
    [`${kept} with its model server`, { stored: [a, '/k'] }, '/k'],
    [`${kept} not with the model server of a flag`, { flag: [b], stored: [a, '/k'] }, none],
    [`${kept} not with the model server ${own}`, { env: [b], stored: [a, '/k'] }, none],
    [
      `${kept} with a flag for the same origin`,
      { flag: ['https://a.example/other'], stored: [a, '/k'] },
      '/k',
    ],
    [`${own} with the model server ${kept}`, { env: [none, 'k'], stored: [a] }, 'k'],
    [`${own} not with that of a flag, if the environment has another`, { flag: [b], env: [a, 'k'] }, none],
    [`${own} with a flag, if it belongs to no other`, { flag: [b], env: [none, 'k'] }, 'k'],
    [`${kept} if that ${own} is for another`, { flag: [b], env: [a, 'k'], stored: [b, '/k'] }, '/k'],
    [`${kept} not without its model server`, { env: [b], stored: [none, '/k'] }, none],
    ['of a flag always', { flag: [none, 'k'], stored: [a, '/k'] }, 'k'],
  ]
  for (const [title, given, keyFile] of keys)
    it(`takes the key ${title}`, () => expect(resolve(given).server?.keyFile).to.equal(keyFile))

  it('never gets a stored key that was stored for another origin', () => {
    const modelServer = fc.option(fc.constantFrom(a, b, 'none', 'ollama'), { nil: undefined })
    fc.assert(
      fc.property(modelServer, modelServer, modelServer, (flag, env, url) => {
        const stored: Level = [url, '/k']
        const { server } = resolve({ flag: [flag], env: [env], stored })
        if (server?.keyFile === undefined) return
        const owned = resolve({ stored }).server?.url ?? 'none:'
        expect(new URL(server.url).origin).to.equal(new URL(owned).origin)
      }),
      { seed: 18 },
    )
  })
})

describe('the profile of a directory', () => {
  const home = perSuite(() => {
    const path = mkdtempSync(join(tmpdir(), 'chatctl-directories-'))
    mkdirSync(join(path, 'jobs', 'acme', 'src'), { recursive: true })
    mkdirSync(join(path, 'jobs', 'acme-old'), { recursive: true })
    symlinkSync(join(path, 'jobs', 'acme'), join(path, 'link'))
    return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
  })

  const profileIn = (directory: string, directories: Record<string, string>) =>
    profileHere({ directories }, join(home.path, directory), { HOME: home.path })?.value

  it('is that of the nearest directory above it, in any order', () => {
    const directories = { '~/jobs/acme': 'acme', '~/jobs': 'jobs' }
    expect(profileIn('jobs/acme', directories)).to.equal('acme')
    expect(profileIn('jobs/acme/src', directories)).to.equal('acme')
    expect(profileIn('jobs/acme-old', directories)).to.equal('jobs')
    expect(profileIn('', directories)).to.equal(undefined)
    expect(profileIn('', { '~': 'home', ...directories })).to.equal('home')
  })

  it('is the same through a symbolic link, and with a slash at the end', () => {
    expect(profileIn('link/src', { '~/jobs/acme/': 'acme' })).to.equal('acme')
    expect(profileIn('jobs/acme', { [`${home.path}/link`]: 'acme' })).to.equal('acme')
  })

  it('is not found by a relative path, by a file, or by a directory that does not exist', () => {
    const directories = { jobs: 'a', './jobs': 'b', '~/missing': 'c', [import.meta.filename]: 'd' }
    expect(profileIn('jobs', directories)).to.equal(undefined)
  })
})

describe('the directory of a configuration key', () => {
  const normalize = (directory: string) =>
    normalizeDirectory(directory, '/home/ada', (name) => resolvePath('/home/ada/now', name))

  for (const [typed, stored] of [
    ['~/jobs/acme', '~/jobs/acme'],
    ['~/jobs/acme/', '~/jobs/acme'],
    ['~/jobs/../acme', '~/acme'],
    ['~', '~'],
    ['~/', '~'],
    ['.', '~/now'],
    ['acme', '~/now/acme'],
    ['~/..x', '~/..x'],
  ] as const)
    it(`is stored as ${stored} if it was typed as ${typed}`, () => expect(normalize(typed)).to.equal(stored))

  for (const typed of ['', ' ', '~ada/jobs', 'a\0b'])
    it(`cannot be ${JSON.stringify(typed)}`, () => expect(() => normalize(typed)).to.throw(Failure))
})

/** Without `doctor`, which reports the configuration, and `history export`, which stores pages on disk. */
const calls = serviceCalls.filter(({ name }) => name !== 'doctor' && name !== 'history:export')

describe('a run with address and key in the environment', () => {
  const server = perSuite(() =>
    startScriptedServer({
      choose: ({ method, path }) => {
        const asked = `${method} ${path.split('?')[0]}`
        return json(200, serviceCalls.find(({ endpoint }) => endpoint === asked)?.answer ?? {})
      },
    }),
  )
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  let env: NodeJS.ProcessEnv
  beforeEach(() => {
    env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
  })

  async function expectFine({ args, stdin = '' }: ServiceCall, more: NodeJS.ProcessEnv = {}): Promise<void> {
    const { exitCode, stderr } = await runChatctl(sandbox, args, { env: { ...env, ...more }, stdin })
    expect(exitCode, `${args.join(' ')}: ${stderr}`).to.equal(0)
    expect(stderr, args.join(' ')).not.to.match(/^Error/m)
  }

  it('does not read an invalid configuration file, for any command that uses the service', async () => {
    mkdirSync(join(sandbox.home, '.config', 'chatctl'), { recursive: true })
    writeFileSync(join(sandbox.home, '.config', 'chatctl', 'config.json'), '{ "profiles": ')
    for (const call of calls) await expectFine(call)
  })

  it('succeeds in a HOME in which nothing can be created', async function () {
    if (process.platform !== 'linux') return this.skip()
    const some = calls.filter(({ name }) => /^(chat:send|settings:(get|api:set)|users:get)$/.test(name))
    // In /proc, the kernel reports the parent of every path as missing.
    for (const HOME of ['/proc/x', join(process.execPath, 'home'), 'relative'])
      for (const call of some) await expectFine(call, { HOME })
  })
})

const now = Date.parse('2026-06-15T12:00:00Z')
const iso = (time: number | undefined) => time && new Date(time).toISOString()

describe('a moment on the command line', () => {
  it('is a date, a time, or a duration before or after now', () => {
    for (const parse of [parsePastTime, parseFutureTime]) {
      expect(iso(parse('2026-01-31', now))).to.equal('2026-01-31T00:00:00.000Z')
      expect(iso(parse(' 2026-01-31T08:00:00+02:00 ', now))).to.equal('2026-01-31T06:00:00.000Z')
    }
    expect(iso(parsePastTime('7d', now))).to.equal('2026-06-08T12:00:00.000Z')
    expect(iso(parseFutureTime('7d', now))).to.equal('2026-06-22T12:00:00.000Z')
    expect(iso(parsePastTime('1.5h', now))).to.equal('2026-06-15T10:30:00.000Z')
    expect(iso(parseFutureTime('90m', now))).to.equal('2026-06-15T13:30:00.000Z')
  })

  it('cannot have another notation', () => {
    for (const text of ['', '30', '2026', '31.01.2026', '2026-13-01', 'soon', '-1d', '1w', 'd'])
      for (const parse of [parsePastTime, parseFutureTime]) expect(parse(text, now), text).to.equal(undefined)
    expect(parseFutureTime('99999999d', now)).to.equal(undefined)
  })
})

describe('a quota', () => {
  for (const [text, requests, window] of [
    ['100/h', 100, 3_600_000],
    ['60/m', 60, 60_000],
    ['5/s', 5, 1000],
    ['10000/d', 10_000, 86_400_000],
    [' 100 / H ', 100, 3_600_000],
    ['free', 100, 3_600_000],
    ['Pro', 1000, 3_600_000],
  ] as const)
    it(`can be ${JSON.stringify(text)}`, () => expect(parseQuota(text)).to.deep.equal({ requests, window }))

  for (const text of ['', ...'100 h /h 100/w -5/h 1.5/h 100/h/h constructor 1e3/h 9999999999/h'.split(' ')])
    it(`cannot be ${JSON.stringify(text)}`, () =>
      expect(() => parseQuota(text)).to.throw('is not a rate limit such as 100/h'))

  it('cannot be zero', () => expect(() => parseQuota('0/h')).to.throw('would allow no request'))

  it('of the enterprise tier must be given as a number', () =>
    expect(() => parseQuota('enterprise')).to.throw('give a number, such as 5000/h'))
})
