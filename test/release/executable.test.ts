import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { buildExecutable } from '../../scripts/executable/build-executable.ts'
import { decompress, duplicate } from '../../src/boot/code-cache-format.ts'
import { hasPrompt } from '../programs/chat/talk-session.ts'
import { startSecretService } from '../programs/keychain/secret-service.ts'
import { attributesOf, expectCode } from '../programs/keychain/stored-key.ts'
import { Tmux } from '../programs/tmux.ts'
import { packageFile, root } from '../scripts/package-file.ts'
import { makeCertificate } from '../support/certificate.ts'
import { executableFor } from '../support/executable.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import type { ProcessOptions, Run } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { runService } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'

const isNative = process.platform === 'linux' && process.arch === 'x64'
const leftOut = isNative ? '' : '; skipped: it runs on Linux for x64'

describeSample(`the executable${leftOut}`, 3, function () {
  // The first test may have to wait for a build.
  this.timeout(300_000)

  let executable: string
  before(async function () {
    if (!isNative) this.skip()
    executable = await executableFor('linux-x64')
  })
  const sandbox = perTest(() => createSandbox({ ownCache: true }))

  /** Runs it where no other program is found. */
  const run = (args: readonly string[], { env, ...options }: ProcessOptions = {}): Promise<Run> =>
    runProgram(sandbox, args, {
      program: [executable],
      ...options,
      env: { PATH: '/nonexistent', NODE_V8_COVERAGE: undefined, ...env },
    })
  const expectDone = async (args: readonly string[], options: ProcessOptions = {}): Promise<string> => {
    const { exitCode, stdout, stderr } = await run(args, options)
    expect(exitCode, stderr).to.equal(0)
    return stdout
  }
  const cacheDirectory = () => join(sandbox.home, '.cache/chatctl/cache')

  it('prints the same version, help, and errors as the package', async () => {
    for (const words of ['--version', '', '--help', 'chat send --help', 'help exit-codes', 'users nothing']) {
      const args = words.split(' ').filter(Boolean)
      expect(await run(args), words).to.deep.equal(await runProgram(sandbox, args))
    }
  })

  it('is byte for byte the same when it is built again', async () => {
    const hash = () => createHash('sha256').update(readFileSync(executable)).digest('hex')
    const first = hash()
    await buildExecutable(root, 'linux-x64')
    expect(hash()).to.equal(first)
  })

  it('contains no path of the machine that built it', () => {
    expect(readFileSync(executable).includes(root)).to.equal(false)
  })

  it('replies from the embedded service in an empty home directory, and without a home directory', async () => {
    expect(await expectDone(['chat', 'send', 'Hello'])).to.match(/not an AI/)
    const directories = Object.fromEntries(
      ['CACHE', 'CONFIG', 'DATA', 'STATE'].map((name) => [`XDG_${name}_HOME`, join(sandbox.home, name)]),
    )
    expect(
      await expectDone(['chat', 'send', 'Hello'], { env: { HOME: undefined, ...directories } }),
    ).to.match(/not an AI/)
  })

  it('runs from a path with spaces and other scripts, through a link, and under any name', async () => {
    const path = join(sandbox.home, 'a b/ä 日本/chatctl 2')
    mkdirSync(join(sandbox.home, 'a b/ä 日本'), { recursive: true })
    copyFileSync(executable, path)
    const link = join(sandbox.home, 'link')
    symlinkSync(path, link)
    const renamed = ['bash', '-c', 'exec -a "" "$@"', 'bash', path] as const
    for (const program of [[path], [link], renamed] as const) {
      const options = { program, env: { PATH: '/usr/bin:/bin' } }
      expect(await expectDone(['settings', 'get', '--jq', '.theme.mode'], options)).to.equal('system\n')
    }
  })

  it('runs from a disk that is mounted read-only', async () => {
    const disk = join(sandbox.home, 'disk')
    mkdirSync(disk)
    copyFileSync(executable, join(disk, 'chatctl'))
    const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$0/chatctl" "$@"'
    const program = ['unshare', '-m', 'sh', '-c', mount, disk] as const
    const options = { program, env: { PATH: sandbox.env['PATH'] } }
    expect(await expectDone(['chat', 'send', 'Hello'], options)).to.match(/not an AI/)
  })

  it('ignores NODE_OPTIONS, which are for other programs', async () => {
    const env = { NODE_OPTIONS: '--require=/nonexistent/module.js --stack-trace-limit=1' }
    expect(await expectDone(['settings', 'get', '--jq', '.theme.mode'], { env })).to.equal('system\n')
  })

  it('trusts the certificates in NODE_EXTRA_CA_CERTS, and with NODE_USE_SYSTEM_CA those of the system', async () => {
    const certificate = makeCertificate('127.0.0.1')
    await using server = await startScriptedServer(json(200, { data: [] }), { certificate })
    const file = join(sandbox.home, 'ca.pem')
    writeFileSync(file, certificate.cert)
    const args = ['chat', 'models', '--json', '--base-url', server.url]
    const key = { CHATCTL_API_KEY: 'a-key' }
    expect(await run(args, { env: key })).to.include({ exitCode: 69 })
    // OpenSSL reads the authorities of the system from this file.
    const ofSystem = { NODE_USE_SYSTEM_CA: '1', SSL_CERT_FILE: file }
    for (const env of [{ NODE_EXTRA_CA_CERTS: file }, ofSystem])
      expect(JSON.parse(await expectDone(args, { env: { ...key, ...env } }))).to.deep.equal({ data: [] })
  })

  it('uses the code caches that it contains', async () => {
    // A cache of this machine that V8 rejects gets a second file, with V8's version tag in its name.
    mkdirSync(cacheDirectory(), { recursive: true, mode: 0o700 })
    const packaged = globSync('dist/code-cache/*.zst', { cwd: root })
    expect(packaged).to.have.length.above(4)
    const [ofStart = ''] = globSync(`dist/code-cache/start-*-${process.versions.v8}-linux-x64`, { cwd: root })
    expect(readFileSync(executable).includes(readFileSync(join(root, ofStart)))).to.equal(true)
    for (const file of packaged) {
      const content = duplicate(decompress(readFileSync(join(root, file))))
      writeFileSync(join(cacheDirectory(), basename(file, '.zst')), content, { mode: 0o600 })
      expect(readFileSync(executable).includes(readFileSync(join(root, file))), file).to.equal(true)
    }
    await expectDone(['chat', 'send', 'Hello'])
    const platform = `${process.platform}-${process.arch}`
    expect(readdirSync(cacheDirectory()).filter((name) => name.includes(`${platform}-`))).to.deep.equal([])
  })

  it('creates users, imports them, and runs its service for other programs', async () => {
    const created = await expectDone([
      ...['users', 'create', '--email', 'ada@example.com', '--generate-password'],
      ...['--profile', 'local', '--json'],
    ])
    expect(JSON.parse(created).email).to.equal('ada@example.com')
    const rows = ['email,name', 'bob@example.com,Bob', 'eve@example.com,Eve', ''].join('\n')
    const results = join(sandbox.home, 'results.csv')
    const passwords = ['--generate-passwords', '--results', results]
    await expectDone(['users', 'import', '-', '--yes', '--profile', 'local', ...passwords], { stdin: rows })
    expect(readFileSync(results, 'utf8')).to.contain('bob@example.com').and.contain('eve@example.com')
    const service = await runService(sandbox, [], { program: [executable] })
    try {
      expect((await fetch(`${service.url}/healthz`)).status).to.equal(200)
      expect(await expectDone(['chat', 'send', 'Hello again'])).to.match(/not an AI/)
    } finally {
      await service.stop()
    }
    expect(service.child.exitCode).to.equal(0)
    const file = join(sandbox.home, 'history.jsonl')
    await expectDone(['history', 'export', '--to', file])
    expect(readFileSync(file, 'utf8')).to.contain('Hello again')
  })

  it('chats in a terminal', async () => {
    const terminal = await Tmux.run(sandbox, [executable, 'chat'], { env: { NODE_V8_COVERAGE: undefined } })
    try {
      await terminal.waitUntil(hasPrompt, 'the prompt')
      await terminal.say('Hello')
      await terminal.waitFor(/not an AI[\s\S]*total [\d.]+s/)
    } finally {
      await terminal.close()
    }
  })

  it('says in doctor that it is an executable', async () => {
    const checks = JSON.parse(await expectDone(['doctor', '--json']))
    const [{ message }] = checks.filter(({ check }: { check: string }) => check === 'version')
    expect(message).to.equal(
      `chatctl ${packageFile.version}, Node.js ${process.versions.node} (in the executable), linux x64`,
    )
  })

  describe('with the keychain of a desktop', () => {
    const keyring = perTest(() => startSecretService(sandbox))
    const service = perTest(() => startBearerService(() => true))
    const addon = () => readdirSync(cacheDirectory()).filter((name) => name.endsWith('.node'))

    /** Signs in, which loads native code in this program and in a second process of it. */
    const login = (options: ProcessOptions = {}) => {
      const words = ['auth', 'login', '--with-api-key', '--profile', 'work', '--base-url', service.url]
      return run([...words, '--json'], {
        stdin: 'canary-1\n',
        ...options,
        env: { ...keyring.env, PATH: '/nonexistent', ...options.env },
      })
    }

    it('stores a credential, reads it, and deletes it', async () => {
      expect(await login()).to.include({ exitCode: 0, stderr: '' })
      const { stdout } = keyring.secretTool(['lookup', ...attributesOf(service)])
      expect(JSON.parse(stdout)).to.include({ key: 'canary-1' })
      const env = keyring.env
      expect(await expectDone(['auth', 'token', '--profile', 'work'], { env })).to.equal('canary-1\n')
      await expectDone(['chat', 'models', '--profile', 'work'], { env })
      await expectDone(['auth', 'logout', '--profile', 'work'], { env })
      expect(keyring.secretTool(['lookup', ...attributesOf(service)]).stdout).to.equal('')
      const [name = ''] = addon()
      expect(addon()).to.have.length(1)
      expect(statSync(join(cacheDirectory(), name)).mode & 0o777).to.equal(0o600)
    })

    it('is not the second process for the keychain in any other process that has its variable', async () => {
      const env = { ...keyring.env, CHATCTL_KEYCHAIN_CALL: '1' }
      expect(await login({ env })).to.include({ exitCode: 0, stderr: '' })
      expect(await expectDone(['--version'], { env })).to.equal(`chatctl ${packageFile.version}\n`)
    })

    it('replaces native code that is damaged or not private, before it is loaded', async () => {
      await login()
      const [name = ''] = addon()
      const path = join(cacheDirectory(), name)
      const whole = readFileSync(path)
      const damage = [
        () => writeFileSync(path, whole.subarray(0, 1000)),
        () => writeFileSync(path, Buffer.alloc(whole.length)),
        () => chmodSync(path, 0o666),
      ]
      for (const change of damage) {
        change()
        expect(await login()).to.include({ exitCode: 0, stderr: '' })
        expect(readFileSync(path).equals(whole)).to.equal(true)
        expect(statSync(path).mode & 0o777).to.equal(0o600)
      }
      expect(addon()).to.deep.equal([name])
    })

    it('names the directory and the variable if it cannot extract native code', async () => {
      const file = join(sandbox.home, 'file')
      writeFileSync(file, '')
      const open = join(sandbox.home, 'open')
      mkdirSync(join(open, 'chatctl/cache'), { recursive: true })
      chmodSync(join(open, 'chatctl/cache'), 0o777)
      for (const [XDG_CACHE_HOME, reason] of [
        [file, `cannot create ${file}/chatctl/cache: not a directory (ENOTDIR)`],
        [open, `other users can write to ${open}/chatctl/cache`],
      ] as const) {
        const { message, hint } = expectCode(await login({ env: { XDG_CACHE_HOME } }), 'keychain_not_loaded')
        expect(message).to.contain(reason)
        expect(hint).to.match(/^Set XDG_CACHE_HOME to a directory/)
      }
    })

    it('says so if the cache directory is on a file system that is mounted with noexec', async () => {
      const disk = join(sandbox.home, 'disk')
      mkdirSync(disk, { mode: 0o700 })
      const mount = 'mount -t tmpfs -o noexec,mode=700 tmpfs "$0" && exec "$@"'
      const program = ['unshare', '-m', 'sh', '-c', mount, disk, executable] as const
      const env = { XDG_CACHE_HOME: disk, PATH: sandbox.env['PATH'] }
      const { message, hint } = expectCode(await login({ program, env }), 'keychain_not_loaded')
      expect(message).to.match(/\.node is on a file system that is mounted with noexec$/)
      expect(hint).to.contain('XDG_CACHE_HOME')
    })
  })
})
