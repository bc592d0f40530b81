import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { commands } from '../../support/manifest.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

/** A directory from someone else, such as a cloned repository, must not influence chatctl. */
describe('files in an untrusted working directory', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() =>
    startScriptedServer(json(200, { data: [{ id: 'm', object: 'model' }], object: 'list' })),
  )
  let cwd: string
  let mark: string
  before(() => {
    cwd = join(sandbox.home, 'foreign')
    mark = join(sandbox.home, 'mark')
    const evil = `require('node:fs').appendFileSync(${JSON.stringify(mark)}, __filename + '\\n')\n`
    const hooks = { init: './evil.js', prerun: './evil.js' }
    const oclif = { bin: 'chatctl', hooks, plugins: ['evil'] }
    const files: Record<string, string> = {
      'package.json': JSON.stringify({ main: 'evil.js', oclif }),
      'evil.js': evil,
      '.oclifrc': JSON.stringify({ hooks }),
      '.oclifrc.js': evil,
      '.env': `CHATCTL_BASE_URL=http://127.0.0.1:1\nNODE_OPTIONS=--require ${join(cwd, 'evil.js')}\n`,
      '.npmrc': 'registry=http://127.0.0.1:1\n',
      'settings.yaml': 'theme: { mode: dark }\n',
      'tsconfig.json': '{}',
    }
    for (const directory of ['', 'chatctl/', '.config/chatctl/'])
      files[`${directory}config.json`] = JSON.stringify({ default_profile: 'evil' })
    for (const name of 'evil undici jq-wasm @oclif/core @napi-rs/keyring @oclif/plugin-help'.split(' ')) {
      const about = { name, version: '9.9.9', main: 'index.js' }
      files[`node_modules/${name}/package.json`] = JSON.stringify(about)
      files[`node_modules/${name}/index.js`] = evil
    }
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(cwd, name, '..'), { recursive: true })
      writeFileSync(join(cwd, name), text)
    }
  })

  for (const line of [
    ...['chat models --jq .data[].id', 'chat models -o yaml', 'config list', 'auth status --no-verify'],
    ...['--help', 'no-such-command'],
  ])
    it(`are neither executed nor read by: ${line}`, async () => {
      const before = readdirSync(cwd).sort()
      const { stderr } = await runChatctl(sandbox, line.split(' '), { cwd, service: server })
      expect(stderr).not.to.match(/evil|bug/)
      expect(existsSync(mark)).to.equal(false)
      expect(readdirSync(cwd).sort()).to.deep.equal(before)
    })
})

describe('other users of the machine', () => {
  it('see no secret in the process list, because no flag takes a secret as its value', () => {
    const flags = commands.flatMap(({ id, flags }) =>
      Object.values(flags).map((flag) => ({ name: `${id} --${flag.name}`, type: flag.type })),
    )
    const secret = flags.filter(({ name }) => /password|secret|token\b|key\b/.test(name.split('--')[1] ?? ''))
    expect(secret.length).to.be.above(5)
    // Paths, addresses, and commands that print a secret are not secret.
    const open = /-(file|url|command)$|tls-key$|^plan:approve --key$/
    const taken = secret.filter(({ name, type }) => type === 'option' && !open.test(name))
    expect(taken.map(({ name }) => name)).to.deep.equal([])
  })
})

describe('a machine with an unusable home or database', () => {
  const sandbox = perTest(createSandbox)
  let data: string
  beforeEach(() => {
    data = join(sandbox.home, '.local', 'share', 'chatctl')
  })

  const run = (args: string[], env: NodeJS.ProcessEnv = {}) => runChatctl(sandbox, args, { env })

  it('can read the configuration if HOME is a file, and names the path that cannot be written', async () => {
    const home = join(sandbox.home, 'file')
    writeFileSync(home, 'x')
    const env = { HOME: home }
    expect(await run(['config', 'list'], env)).to.include({ exitCode: 0, stderr: '' })
    expectFailure(await run(['chat', 'send', 'hi'], env), 1, home, 'is not a directory')
    const refused = await run(['config', 'set', 'model', 'x'], env)
    expectFailure(refused, 1, home, 'not a directory', 'XDG_CONFIG_HOME')
    expect(readFileSync(home, 'utf8')).to.equal('x')
  })

  /** Expects the same error from every command that opens the data, and an unchanged file. */
  async function expectRefused(content: Buffer, ...words: string[]): Promise<void> {
    const file = join(data, 'chatctl.db')
    writeFileSync(file, content)
    const services = ['run --port 0', 'keys list', 'sessions list', 'keys create --name x', 'status']
    for (const line of ['chat send hi', ...services.map((words) => `service ${words}`)]) {
      expectFailure(await run(line.split(' ')), 1, file, ...words, 'Hint:  ')
      expect(readFileSync(file).equals(content)).to.equal(true)
    }
  }

  it('keeps and rejects a database file that is truncated or not a database', async () => {
    await run(['chat', 'send', 'hi'])
    const whole = readFileSync(join(data, 'chatctl.db'))
    await expectRefused(Buffer.from('not a database, and long enough '.repeat(40)), 'damaged', 'backup')
    await expectRefused(whole.subarray(0, 20_000), 'damaged', 'backup')
  })

  it('reports a corrupted database for settings get and service status', async () => {
    await run(['chat', 'send', 'hi'])
    const file = join(data, 'chatctl.db')
    cpSync(file, `${file}.good`)
    const bytes = readFileSync(file)
    bytes.fill(0xa5, 8_192, 60_000)
    writeFileSync(file, bytes)
    expectFailure(await run(['settings', 'get', '--retries', '0']), 69, 'database of the service is damaged')
    expectFailure(await run(['service', 'status']), 1, 'is damaged')
    cpSync(`${file}.good`, file)
    expect(await run(['settings', 'get'])).to.include({ exitCode: 0 })
  })

  it('names the file of CHATCTL_DATABASE_FILE that cannot be used, and --database takes precedence', async () => {
    const file = join(sandbox.home, 'database-url')
    const env = { CHATCTL_DATABASE_FILE: file }
    const status = ['service', 'status']
    const path = `CHATCTL_DATABASE_FILE: ${file}`
    expectFailure(await run(status, env), 2, path, 'no such file')
    writeFileSync(file, '\n')
    expectFailure(await run(status, env), 2, path, 'is empty')
    // Nothing listens there.
    writeFileSync(file, 'postgres://chatctl:canary@127.0.0.1:1/one\n')
    for (const args of [status, ['service', 'run', '--port', '0']]) {
      const failed = await run(args, env)
      expectFailure(failed, 69, 'postgres://127.0.0.1:1/one')
      expect(failed.stderr).not.to.contain('canary')
    }
    const other = 'postgres://127.0.0.1:1/two'
    expectFailure(await run([...status, '--database', other], env), 69, other)
    expectFailure(await run(status, { ...env, CHATCTL_DATABASE: other }), 69, other)
    if (process.platform === 'win32') return
    chmodSync(file, 0o666)
    expectFailure(await run(status, env), 2, path, 'other users')
  })
})
