import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { changeConfiguration } from '../../src/config/configuration-file.ts'
import type { Failure } from '../../src/contract/failure.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { tryProcessLock } from '../../src/system/files/process-lock.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

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

  const broken: [title: string, content: string | Uint8Array, words: string][] = [
    ['truncated', '{"profiles": {', 'is not valid JSON: '],
    ['empty', '', 'is not valid JSON: '],
    ['binary', Buffer.from([0xff, 0xfe, 0x00]), 'is not valid JSON: '],
    ['a list', '[]', 'the file must be an object'],
    ['an object with an unknown key', '{"profile": {}}', 'profile is not a known field'],
    [
      'an object with a secret',
      '{"profiles":{"w":{"api_key":"x"}}}',
      'profiles.w.api_key is not a known field',
    ],
    [
      'an object with a value of the wrong type',
      '{"profiles":{"w":{"timeout":5}}}',
      'profiles.w.timeout must be a string',
    ],
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

  for (const [title, content, words] of broken)
    it(`stays unchanged if it is ${title}, and the error says where: exit 2`, async () => {
      write(content)
      for (const args of [
        ['history', 'list'],
        ['config', 'list'],
        ['config', 'set', 'model', 'x', '-p', 'new'],
        ['chat', 'send', 'hi', '-p', 'local'],
      ]) {
        expectFailure(await run(...args), 2, words, file)
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
    const runs = await Promise.all(
      names.map((name) => run('config', 'set', 'model', `of-${name}`, '-p', name)),
    )
    for (const { exitCode, stderr } of runs)
      expect({ exitCode, stderr }).to.include({ exitCode: 0, stderr: '' })
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
    for (const args of [
      ['set', 'model_server', 'ollama'],
      ['unset', 'model_server'],
    ]) {
      const failed = await run('config', ...args, '--profile', 'local')
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

  it('names the new key for its old name', async () =>
    expectFailure(
      await run('config', 'set', 'upstream=ollama'),
      2,
      'Unknown configuration option "upstream"',
      'Did you mean model_server?',
    ))

  it('refuses a key file without a stored model server, which could then be any', async () => {
    const hint = 'Set it first with: chatctl config set model_server=URL'
    const refused = await run('config', 'set', 'model_server_key_file', 'up.key')
    expectFailure(refused, 2, 'but none is stored', hint)
    await run('config', 'set', 'model_server=none')
    const rejected = await run('config', 'set', 'model_server_key_file', 'up.key')
    expectFailure(rejected, 2, 'but none is stored', hint)
  })

  const wrong: [value: string, ...words: string[]][] = [
    ['olama', 'Did you mean ollama?', 'none'],
    ['127.0.0.1:11434', 'must be an http:// or https:// URL'],
    ['ftp://127.0.0.1/v1', 'must be an http:// or https:// URL'],
    ['', 'must not be empty'],
  ]
  for (const [value, ...words] of wrong)
    it(`refuses the model server "${value}" and stores nothing`, async () => {
      expectFailure(await run('config', 'set', 'model_server', value), 2, ...words)
      expect(existsSync(file())).to.equal(false)
    })
})
